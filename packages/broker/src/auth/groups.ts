import { roleOfGroup } from '@signalbox/protocol';
import type { TokenRegistry } from './token-registry.ts';

/** The groups of the configuration by name: the agents with one of these roles are the members. */
export type GroupSettings = Readonly<Record<string, { readonly roles: readonly string[] }>>;

/**
 * Knows the groups and their members. A group `role:ROLE` exists for every role that the configuration names or a token gives, and
 * `group:NAME` for the groups of the configuration.
 */
export class Groups {
  readonly #tokens: Pick<TokenRegistry, 'agentsOf' | 'roles'>;
  readonly #roles: ReadonlySet<string>;
  #groups: ReadonlyMap<string, readonly string[]>;
  readonly #byRole = new Map<string, readonly string[]>();

  /** `roles` are those that the configuration names. */
  constructor(
    tokens: Pick<TokenRegistry, 'agentsOf' | 'roles'>,
    roles: Iterable<string>,
    groups: GroupSettings,
  ) {
    this.#tokens = tokens;
    this.#roles = new Set(roles);
    this.#groups = byAddress(groups);
  }

  /** Replaces the groups of the configuration. */
  set(groups: GroupSettings): void {
    this.#groups = byAddress(groups);
    this.#byRole.clear();
  }

  /** Tells whether messages can be sent to this group. */
  has(address: string): boolean {
    const role = roleOfGroup(address);
    return role === undefined ? this.#groups.has(address) : this.#isRole(role);
  }

  /** Tells whether agents of a role are members of a group. */
  isMember(address: string, role: string): boolean {
    return this.rolesIn(address).includes(role);
  }

  /** Returns the groups whose members have a role. */
  of(role: string): readonly string[] {
    const known = this.#byRole.get(role);
    if (known) return known;
    const named = [...this.#groups].filter(([, roles]) => roles.includes(role));
    const groups = [`role:${role}`, ...named.map(([address]) => address)];
    this.#byRole.set(role, groups);
    return groups;
  }

  /** Yields the members of a group: the agents to which a live token gives one of its roles. */
  *members(address: string): Generator<string> {
    const seen = new Set<string>();
    for (const role of this.rolesIn(address)) {
      for (const agent of this.#tokens.agentsOf(role)) {
        if (seen.has(agent)) continue;
        seen.add(agent);
        yield agent;
      }
    }
  }

  /** Tells whether the group has a member. */
  hasMembers(address: string): boolean {
    return !this.members(address).next().done;
  }

  /** Yields the addresses of all groups. */
  *addresses(): Generator<string> {
    yield* this.#groups.keys();
    for (const role of new Set([...this.#roles, ...this.#tokens.roles()])) yield `role:${role}`;
  }

  /** Returns the roles whose agents are the members of a group; none for a group that the configuration does not have. */
  rolesIn(address: string): readonly string[] {
    const role = roleOfGroup(address);
    return role === undefined ? (this.#groups.get(address) ?? []) : [role];
  }

  #isRole(role: string): boolean {
    return this.#roles.has(role) || !this.#tokens.agentsOf(role).next().done;
  }
}

function byAddress(groups: GroupSettings): ReadonlyMap<string, readonly string[]> {
  return new Map(Object.entries(groups).map(([name, { roles }]) => [`group:${name}`, roles]));
}
