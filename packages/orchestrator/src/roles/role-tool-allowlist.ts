import type { Tool } from '@signalbox/protocol';
import { matchesPattern } from './tool-pattern.ts';

/** Whether a role without an entry may use every tool (`allow`) or none (`deny`). */
export type UnlistedRoles = 'allow' | 'deny';

/** Whether a role may use a tool, and the rule of the configuration that decides it. */
export interface AllowlistRule {
  allowed: boolean;
  rule: string;
}

/**
 * Says which tools each role may see and call. It never changes; `withRole` returns a new allowlist. The entry of a
 * role holds exact tool names and patterns in which `*` stands for any run of characters (`mcp_github__*`); an empty
 * entry locks the role out.
 */
export class RoleToolAllowlist {
  readonly #patterns: ReadonlyMap<string, readonly string[]>;
  readonly #unlisted: UnlistedRoles;

  private constructor(patterns: ReadonlyMap<string, readonly string[]>, unlisted: UnlistedRoles) {
    this.#patterns = patterns;
    this.#unlisted = unlisted;
  }

  /** Returns an allowlist under which every role may use every tool. */
  static unrestricted(): RoleToolAllowlist {
    return new RoleToolAllowlist(new Map(), 'allow');
  }

  /**
   * Makes an allowlist from `[role, patterns]` pairs. A role without an entry, or no role, may use every tool unless
   * `unlisted` is `deny`.
   */
  static fromEntries(
    entries: Iterable<readonly [role: string, patterns: readonly string[]]>,
    options: { unlisted?: UnlistedRoles } = {},
  ): RoleToolAllowlist {
    const patterns = new Map<string, readonly string[]>();
    for (const [role, list] of entries) patterns.set(role, [...list]);
    return new RoleToolAllowlist(patterns, options.unlisted ?? 'allow');
  }

  /** Returns a copy in which `role` may use exactly the tools that `patterns` match. */
  withRole(role: string, patterns: readonly string[]): RoleToolAllowlist {
    return new RoleToolAllowlist(new Map(this.#patterns).set(role, [...patterns]), this.#unlisted);
  }

  /** Whether `role` may use `tool`. */
  allows(role: string | undefined, tool: string): boolean {
    const patterns = this.#patternsOf(role);
    if (!patterns) return this.#unlisted === 'allow';
    return patterns.some((pattern) => matchesPattern(pattern, tool));
  }

  /** Answers like {@link allows}, with the reason: the first pattern that matches, or why none does. */
  explain(role: string | undefined, tool: string): AllowlistRule {
    const patterns = this.#patternsOf(role);
    if (!patterns) return { allowed: this.#unlisted === 'allow', rule: `unlisted: ${this.#unlisted}` };
    const pattern = patterns.find((one) => matchesPattern(one, tool));
    if (pattern !== undefined) return { allowed: true, rule: `roles.${role}.tools: '${pattern}'` };
    const why = patterns.length === 0 ? 'empty list' : 'no pattern matches';
    return { allowed: false, rule: `roles.${role}.tools: ${why}` };
  }

  /** Whether there may be a tool that `role` must not use. */
  isRestricted(role: string | undefined): boolean {
    return this.#unlisted === 'deny' || this.#patternsOf(role) !== undefined;
  }

  /** Returns the tools of the list that `role` may use, in the same order. */
  filterManifest(role: string | undefined, tools: readonly Tool[]): Tool[] {
    return tools.filter((tool) => this.allows(role, tool.name));
  }

  /** The `[role, patterns]` pairs of this allowlist. */
  entries(): IterableIterator<[role: string, patterns: readonly string[]]> {
    return new Map(this.#patterns).entries();
  }

  #patternsOf(role: string | undefined): readonly string[] | undefined {
    return role === undefined ? undefined : this.#patterns.get(role);
  }
}
