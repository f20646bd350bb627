import { isGroup, roleOfGroup } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import type { Config } from '../config.ts';

/**
 * Warns of webhooks and schedules that send to a group or a role that the configuration does not name: perhaps no agent is ever a member.
 * The broker alone knows which agents there are. `file` is the configuration as people named it.
 */
export function unknownRecipients({ hooks, schedules, groups, roles, auth }: Config, file: string): string[] {
  const known = [...Object.keys(roles), ...Object.values(auth?.roles ?? {})].map((role) => `role:${role}`);
  known.push(...Object.keys(groups).map((group) => `group:${group}`));
  const senders = [
    ...Object.entries(hooks).map(([name, { to }]) => ({ path: `hooks.${name}.to`, to, what: 'deliveries' })),
    ...Object.entries(schedules).map(([name, { to }]) => ({
      path: `schedules.${name}.to`,
      to,
      what: 'runs',
    })),
  ];
  return senders.flatMap(({ path, to, what }) => {
    if (!isGroup(to) || known.includes(to)) return [];
    const until = roleOfGroup(to) === undefined ? '' : ' until an agent has this role';
    const near = suggestion(to, known);
    return [`${file}: ${path}: the configuration names no '${to}'${near}; ${what} are refused${until}`];
  });
}
