import type { ToolOrigin } from '@signalbox/mcp-host';
import type { Tool } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import { allowsTool, mayMeanToolOf, ruleText, type ToolRule } from './tool-pattern.ts';

/** The origin of each tool, by the name with which agents call it. */
export type ToolOrigins = ReadonlyMap<string, ToolOrigin>;

/** The access of a role without an entry: every tool (`allow`) or none (`deny`). */
export type UnlistedRoles = 'allow' | 'deny';

/** The decision whether a role may use a tool, and the rule of the configuration that led to it. */
export interface AllowlistRule {
  allowed: boolean;
  rule: string;
}

/** Names the rule that refuses a role without an entry, and the role of the configuration that may be meant. */
export function unlistedRule(role: string | undefined, listed: Iterable<string>): string {
  return role === undefined
    ? 'unlisted: deny'
    : `unlisted: deny; roles has no '${role}'${suggestion(role, listed)}`;
}

/**
 * Decides which tools each role may see and call. It never changes; `withRole` returns a new allowlist. The entry of a role holds exact
 * tool names and patterns in which `*` stands for any run of characters (`mcp_github__*`), or `server:tool` (`github:*`), which has the
 * server's name of the configuration, or `{ annotations: readOnly }`; an empty entry locks the role out.
 */
export class RoleToolAllowlist {
  readonly #patterns: ReadonlyMap<string, readonly ToolRule[]>;
  readonly #unlisted: UnlistedRoles;

  private constructor(patterns: ReadonlyMap<string, readonly ToolRule[]>, unlisted: UnlistedRoles) {
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
    entries: Iterable<readonly [role: string, patterns: readonly ToolRule[]]>,
    options: { unlisted?: UnlistedRoles } = {},
  ): RoleToolAllowlist {
    const patterns = new Map<string, readonly ToolRule[]>();
    for (const [role, list] of entries) patterns.set(role, [...list]);
    return new RoleToolAllowlist(patterns, options.unlisted ?? 'allow');
  }

  /** Returns a copy in which `role` may use exactly the tools that `patterns` match. */
  withRole(role: string, patterns: readonly ToolRule[]): RoleToolAllowlist {
    return new RoleToolAllowlist(new Map(this.#patterns).set(role, [...patterns]), this.#unlisted);
  }

  /** Tells whether `role` may use `tool`. Without an `origin`, no pattern of the form `server:tool` matches it. */
  allows(role: string | undefined, tool: string, origin?: ToolOrigin): boolean {
    const patterns = this.#patternsOf(role);
    if (!patterns) return this.#unlisted === 'allow';
    return patterns.some((pattern) => allowsTool(pattern, tool, origin));
  }

  /** Tells whether `role` may be allowed to use some tool of a server. The tools of the server need not be known. */
  mayAllowToolOf(role: string | undefined, server: { server: string; prefix: boolean }): boolean {
    const patterns = this.#patternsOf(role);
    if (!patterns) return this.#unlisted === 'allow';
    return patterns.some((pattern) => mayMeanToolOf(pattern, server));
  }

  /** Tells whether a role has a rule by annotations, which decides only about tools that are listed. */
  isByAnnotations(role: string | undefined): boolean {
    return this.#patternsOf(role)?.some((pattern) => typeof pattern !== 'string') ?? false;
  }

  /** Answers like {@link allows}, and adds the reason: the first pattern that matches, or why none does. */
  explain(role: string | undefined, tool: string, origin?: ToolOrigin): AllowlistRule {
    if (role === 'observer') return { allowed: false, rule: 'an observer uses no tool' };
    const patterns = this.#patternsOf(role);
    if (!patterns && this.#unlisted === 'allow') return { allowed: true, rule: 'unlisted: allow' };
    if (!patterns) return { allowed: false, rule: unlistedRule(role, this.#patterns.keys()) };
    const pattern = patterns.find((one) => allowsTool(one, tool, origin));
    if (pattern !== undefined) return { allowed: true, rule: `roles.${role}.tools: ${ruleText(pattern)}` };
    const pins = this.isByAnnotations(role)
      ? '; { annotations: readOnly } matches what a server with definitions: pin declares readOnlyHint: true'
      : '';
    const why = patterns.length === 0 ? 'empty list' : `no pattern matches${pins}`;
    return { allowed: false, rule: `roles.${role}.tools: ${why}` };
  }

  /** Tells whether there may be a tool that `role` must not use. */
  isRestricted(role: string | undefined): boolean {
    return this.#unlisted === 'deny' || this.#patternsOf(role) !== undefined;
  }

  /** Returns the tools of the list that `role` may use, in the same order. */
  filterManifest(role: string | undefined, tools: readonly Tool[], origins: ToolOrigins = new Map()): Tool[] {
    return tools.filter(({ name }) => this.allows(role, name, origins.get(name)));
  }

  /** The `[role, patterns]` pairs of this allowlist. */
  entries(): IterableIterator<[role: string, patterns: readonly ToolRule[]]> {
    return new Map(this.#patterns).entries();
  }

  #patternsOf(role: string | undefined): readonly ToolRule[] | undefined {
    // An observer uses no tool, even if the configuration allows that role some.
    if (role === 'observer') return [];
    return role === undefined ? undefined : this.#patterns.get(role);
  }
}
