import { isGroup, roleOfGroup } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import type { Config } from '../config.ts';

/**
 * Warns of webhooks, schedules, agents for A2A and notes that go to a group or a role that the configuration does not name, and of groups of roles that it
 * does not name: perhaps no agent is ever a member. The broker alone knows which agents there are. `file` is the configuration as people
 * named it.
 */
export function unknownRecipients(config: Config, file: string): string[] {
  const { hooks, schedules, approvals, groups, roles, auth, a2a } = config;
  const ownRoles = [...Object.keys(roles), ...Object.values(auth?.roles ?? {})];
  const known = ownRoles.map((role) => `role:${role}`);
  known.push(...Object.keys(groups).map((group) => `group:${group}`));
  const senders = [
    ...Object.entries(hooks).map(([name, { to }]) => ({ path: `hooks.${name}.to`, to, what: 'deliveries' })),
    ...Object.entries(schedules).map(([name, { to }]) => ({
      path: `schedules.${name}.to`,
      to,
      what: 'runs',
    })),
    ...Object.entries(a2a?.agents ?? {}).map(([name, { to }]) => ({
      path: `a2a.agents.${name}.to`,
      to,
      what: 'messages of callers from outside',
    })),
    ...approvals.notify.map((to, at) => ({ path: `approvals.notify[${at}]`, to, what: 'notes' })),
  ];
  // Without an entry in roles, every role may use everything, and none has to be listed.
  const members = Object.keys(roles).length === 0 ? [] : Object.entries(groups);
  const strangers = members.flatMap(([group, entry]) =>
    entry.roles.flatMap((role, at) =>
      ownRoles.includes(role)
        ? []
        : [
            `${file}: groups.${group}.roles[${at}]: the configuration names no role '${role}'${suggestion(role, ownRoles)}`,
          ],
    ),
  );
  const refused = senders.flatMap(({ path, to, what }) => {
    if (!isGroup(to) || known.includes(to)) return [];
    const until = roleOfGroup(to) === undefined ? '' : ' until an agent has this role';
    const near = suggestion(to, known);
    return [`${file}: ${path}: the configuration names no '${to}'${near}; ${what} are refused${until}`];
  });
  return [...refused, ...strangers];
}
