import { isGroup, roleOfGroup, suggestion } from '@signalbox/protocol';
import type { Config } from '../config.ts';

/**
 * Warns of webhooks that send to a group or a role that the configuration does not name: perhaps no agent is ever a member. The broker
 * alone knows which agents there are. `file` is the configuration as people named it.
 */
export function unknownRecipients({ hooks, groups, roles, auth }: Config, file: string): string[] {
  const known = [...Object.keys(roles), ...Object.values(auth?.roles ?? {})].map((role) => `role:${role}`);
  known.push(...Object.keys(groups).map((group) => `group:${group}`));
  return Object.entries(hooks).flatMap(([name, { to }]) => {
    if (!isGroup(to) || known.includes(to)) return [];
    const until = roleOfGroup(to) === undefined ? '' : ' until an agent has this role';
    return [
      `${file}: hooks.${name}.to: the configuration names no '${to}'${suggestion(to, known)}; deliveries are refused${until}`,
    ];
  });
}
