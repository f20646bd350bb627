import { SignalboxError } from '@signalbox/protocol';
import { nearestName } from '@signalbox/protocol/internal';
import type { Config } from '../config.ts';

/** The roles of a configuration by name, and the file that lists them. */
export type ListedRoles = Pick<Config, 'unlisted' | 'file'> & { roles: Readonly<Record<string, unknown>> };

/** Roles with a meaning of their own, which no configuration lists. */
const ownRoles = ['operator', 'observer', 'orchestrator', 'host'];

/**
 * Returns a warning if a role is not one of those that the configuration lists. Where roles without an entry may use every tool, as
 * many do, only a role that looks misspelt is worth one.
 */
export function roleWarning(
  role: string,
  { roles, unlisted, file = 'signalbox.yaml' }: ListedRoles,
): string | undefined {
  const names = Object.keys(roles);
  if (names.length === 0 || names.includes(role) || ownRoles.includes(role)) return undefined;
  const nearest = nearestName(role, names);
  if (unlisted === 'allow' && nearest === undefined) return undefined;
  const meaning = unlisted === 'allow' ? 'may use every tool' : 'may use no tool';
  const known = nearest === undefined ? `it lists ${names.join(', ')}` : `did you mean '${nearest}'?`;
  return `role '${role}' is not in ${file} (${known}): an agent in this role ${meaning}`;
}

/** A token, as far as its roles go. A minting token has several. */
interface RoleHolder {
  agent: string;
  role: string;
  roles?: readonly string[] | undefined;
  /** The roles on whose calls it decides: it is there for that, and needs no tools. */
  approves?: readonly string[] | undefined;
  damaged?: string | boolean | undefined;
}

/** The most agents that one warning names. */
const maxAgents = 5;

/**
 * Returns a warning for each role of tokens that the configuration does not list, with their agents: the role was removed, or is misspelt.
 * `listed` is `undefined` if there is no configuration.
 */
export function strandedRoles(tokens: readonly RoleHolder[], listed: ListedRoles | undefined): string[] {
  if (!listed) return [];
  const held = tokens.flatMap(({ agent, role, roles, approves, damaged }) =>
    damaged || approves ? [] : (roles ?? [role]).map((one) => ({ agent, role: one })),
  );
  return [...Map.groupBy(held, ({ role }) => role)].flatMap(([role, of]) => {
    const warning = roleWarning(role, listed);
    const agents = [...new Set(of.map(({ agent }) => agent))];
    const more = agents.length > maxAgents ? ` and ${agents.length - maxAgents} more` : '';
    const holders = `${agents.slice(0, maxAgents).join(', ')}${more}`;
    return warning === undefined ? [] : [`${warning}; there are tokens with it for ${holders}`];
  });
}

/** Throws `bad_config` if a file that is in force has lost all its roles, which would open every server to every role. */
export function checkStillDenies(
  before: Pick<Config, 'unlisted'>,
  next: Pick<Config, 'unlisted' | 'unlistedByDefault'>,
): void {
  if (before.unlisted === 'allow' || next.unlisted === 'deny' || !next.unlistedByDefault) return;
  throw new SignalboxError(
    'bad_config',
    "no roles are left, which would let every role use every tool; write 'unlisted: allow' if that is meant",
  );
}
