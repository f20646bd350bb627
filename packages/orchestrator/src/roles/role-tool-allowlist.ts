import type { Tool } from '@signalbox/protocol';
import { matchesPattern } from './tool-pattern.ts';

/** What roles without an entry may use: everything (`allow`), or nothing (`deny`). */
export type UnlistedRoles = 'allow' | 'deny';

/** Whether a role may use a tool, and the rule that decided, in the configuration's words. */
export interface AllowlistRule {
  allowed: boolean;
  rule: string;
}

/**
 * Which tools each role may see and call. Immutable: a change is a new allowlist.
 * An entry holds exact tool names or globs in which `*` stands for any run of characters (`mcp_github__*`);
 * an empty entry locks the role out.
 */
export class RoleToolAllowlist {
  readonly #patterns: ReadonlyMap<string, readonly string[]>;
  readonly #unlisted: UnlistedRoles;

  private constructor(patterns: ReadonlyMap<string, readonly string[]>, unlisted: UnlistedRoles) {
    this.#patterns = patterns;
    this.#unlisted = unlisted;
  }

  /** Every role may use every tool. */
  static unrestricted(): RoleToolAllowlist {
    return new RoleToolAllowlist(new Map(), 'allow');
  }

  /**
   * From `[role, patterns]` pairs. A role without an entry, or no role, may use everything unless `unlisted` is
   * `deny`.
   */
  static fromEntries(
    entries: Iterable<readonly [role: string, patterns: readonly string[]]>,
    options: { unlisted?: UnlistedRoles } = {},
  ): RoleToolAllowlist {
    const patterns = new Map<string, readonly string[]>();
    for (const [role, list] of entries) patterns.set(role, [...list]);
    return new RoleToolAllowlist(patterns, options.unlisted ?? 'allow');
  }

  /** A copy in which `role` may use exactly what `patterns` name. */
  withRole(role: string, patterns: readonly string[]): RoleToolAllowlist {
    return new RoleToolAllowlist(new Map(this.#patterns).set(role, [...patterns]), this.#unlisted);
  }

  allows(role: string | undefined, tool: string): boolean {
    const patterns = this.#patternsOf(role);
    if (!patterns) return this.#unlisted === 'allow';
    return patterns.some((pattern) => matchesPattern(pattern, tool));
  }

  /** The same answer as {@link allows}, with the rule behind it: the first pattern that matches, or why none does. */
  explain(role: string | undefined, tool: string): AllowlistRule {
    const patterns = this.#patternsOf(role);
    if (!patterns) return { allowed: this.#unlisted === 'allow', rule: `unlisted: ${this.#unlisted}` };
    const pattern = patterns.find((one) => matchesPattern(one, tool));
    if (pattern !== undefined) return { allowed: true, rule: `roles.${role}.tools: '${pattern}'` };
    const why = patterns.length === 0 ? 'empty list' : 'no pattern matches';
    return { allowed: false, rule: `roles.${role}.tools: ${why}` };
  }

  /** True if there may be a tool that `role` must not use. */
  isRestricted(role: string | undefined): boolean {
    return this.#unlisted === 'deny' || this.#patternsOf(role) !== undefined;
  }

  /** The tools that `role` may see, in their order. */
  filterManifest(role: string | undefined, tools: readonly Tool[]): Tool[] {
    return tools.filter((tool) => this.allows(role, tool.name));
  }

  /** The entries it was made of, as `[role, patterns]` pairs. */
  entries(): IterableIterator<[role: string, patterns: readonly string[]]> {
    return new Map(this.#patterns).entries();
  }

  #patternsOf(role: string | undefined): readonly string[] | undefined {
    return role === undefined ? undefined : this.#patterns.get(role);
  }
}
