import {
  type LimitEntry,
  type LimitGroup,
  type LimitOverrides,
  type Limits,
  limitsOf,
  limitTable,
  systemDefault,
} from '@signalbox/protocol';

/** Knows the limits of every role, and the setting from which each of them comes. */
export class RoleLimits {
  /** The limits that are the same for every role, and those of a role without limits of its own. */
  readonly forAll: Limits;
  readonly #forAll: LimitOverrides;
  readonly #ofRoles: Readonly<Record<string, LimitOverrides>>;
  readonly #known = new Map<string, Limits>();

  /** `forAll` replaces defaults for all roles, and `ofRoles` for single ones. */
  constructor(forAll: LimitOverrides = {}, ofRoles: Readonly<Record<string, LimitOverrides>> = {}) {
    this.#forAll = forAll;
    this.#ofRoles = ofRoles;
    this.forAll = limitsOf(undefined, forAll);
  }

  /** Returns the limits that the operator set, so that the JSON text of the rules changes together with them. */
  toJSON(): unknown {
    return [this.#forAll, this.#ofRoles];
  }

  /** Returns the limits of a role. The same role gets the same object. */
  of(role: string): Limits {
    const known = this.#known.get(role);
    if (known) return known;
    const limits = limitsOf(role, this.#forAll, this.#own(role));
    this.#known.set(role, limits);
    return limits;
  }

  /** Returns the path of the setting that an operator changes to raise a limit of a role. */
  setting<Group extends LimitGroup>(
    role: string,
    group: Group,
    name: keyof (typeof limitTable)[Group] & string,
  ): string {
    const entry = limitTable[group][name] as LimitEntry;
    const own = this.#own(role)?.[group] as Record<string, number | undefined> | undefined;
    const isOwn = own?.[name] !== undefined || systemDefault(entry, role) !== undefined;
    return `${isOwn ? `roles.${role}.limits` : 'broker.limits'}.${group}.${name}`;
  }

  #own(role: string): LimitOverrides | undefined {
    return Object.hasOwn(this.#ofRoles, role) ? this.#ofRoles[role] : undefined;
  }
}
