/** The roles of configured senders: webhooks and schedules. No token has such a role. */
const configuredSenderRoles = ['hook', 'schedule'] as const;

/** The role of a configured sender. */
export type ConfiguredSenderRole = (typeof configuredSenderRoles)[number];

/** Matches the name that a configured sender has in the configuration. */
export const configuredSenderName = /^[a-z0-9][a-z0-9-]{0,31}$/;

/**
 * Returns the identity of a configured sender, such as `hook.github` in the role `hook`. It has no token, sends only to the recipient
 * that the configuration names, and has no inbox.
 */
export function configuredSender(
  role: ConfiguredSenderRole,
  name: string,
): { agent: string; address: string; role: string } {
  const agent = `${role}.${name}`;
  return { agent, address: agent, role };
}

/** Yields the prefixes of the agent ids of configured senders, such as `hook.`. */
export function* configuredSenderPrefixes(): Generator<string> {
  for (const role of configuredSenderRoles) yield `${role}.`;
}

const configuredSenderAddress = new RegExp(`^(?:${configuredSenderRoles.join('|')})(?![^._#-])`);

/**
 * Tells whether an agent id or address belongs to configured senders. It does if its first segment, up to the first `.`, `_` or `-`, is one
 * of {@link ConfiguredSenderRole}: `hook.github` and `hook-1` do, and `hooker` does not.
 */
export function isConfiguredSender(address: string): boolean {
  return configuredSenderAddress.test(address);
}

/** Tells whether a role is one of configured senders. */
export function isConfiguredSenderRole(role: string): role is ConfiguredSenderRole {
  return configuredSenderRoles.some((known) => known === role);
}
