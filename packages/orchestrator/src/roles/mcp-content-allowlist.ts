import type { ToolOrigin } from '@signalbox/mcp-host';
import { type McpContentKinds, templateShape } from '@signalbox/protocol';
import { matchesResource } from './resource-pattern.ts';
import { type AllowlistRule, type UnlistedRoles, unlistedRule } from './role-tool-allowlist.ts';
import { matchesTool } from './tool-pattern.ts';

/** The prompts and resources that a role may use: patterns of prompts, and of resources in the form `SERVER:URI`. */
export interface McpContentPatterns {
  prompts?: readonly string[] | undefined;
  resources?: readonly string[] | undefined;
}

/**
 * Decides which prompts and resources each role may see and use. A role with an entry may use what its entry names, and nothing of a kind
 * that the entry leaves out. An allowlist never changes.
 */
export class McpContentAllowlist {
  readonly #entries: ReadonlyMap<string, McpContentPatterns>;
  readonly #unlisted: UnlistedRoles;

  private constructor(entries: ReadonlyMap<string, McpContentPatterns>, unlisted: UnlistedRoles) {
    this.#entries = entries;
    this.#unlisted = unlisted;
  }

  /** Returns an allowlist under which every role may use everything. */
  static unrestricted(): McpContentAllowlist {
    return new McpContentAllowlist(new Map(), 'allow');
  }

  /** Makes an allowlist from pairs. A role without an entry may use everything if `unlisted` is `allow`, as by default. */
  static fromEntries(
    entries: Iterable<readonly [role: string, patterns: McpContentPatterns]>,
    { unlisted = 'allow' }: { unlisted?: UnlistedRoles } = {},
  ): McpContentAllowlist {
    return new McpContentAllowlist(new Map(entries), unlisted);
  }

  /** Returns a copy in which `role` may use what `patterns` name. */
  withRole(role: string, patterns: McpContentPatterns): McpContentAllowlist {
    return new McpContentAllowlist(new Map(this.#entries).set(role, patterns), this.#unlisted);
  }

  /** The `[role, patterns]` pairs of this allowlist. */
  entries(): IterableIterator<[role: string, patterns: McpContentPatterns]> {
    return new Map(this.#entries).entries();
  }

  /** Returns the kinds that a role may use. The policy alone decides, no matter which servers are up. */
  kinds(role: string): McpContentKinds {
    return {
      ...(this.#mayUseSome(role, 'prompts') && { prompts: true }),
      ...(this.#mayUseSome(role, 'resources') && { resources: true }),
    };
  }

  /** Tells whether a role may use a prompt, by its shown name, or by its server and the server's own name of it. */
  allowsPrompt(role: string, name: string, origin: ToolOrigin | undefined): boolean {
    return this.explainPrompt(role, name, origin).allowed;
  }

  /** Tells whether a role may use a resource of a server. The spelling of its URI makes no difference. */
  allowsResource(role: string, server: string, uri: string): boolean {
    return this.explainResource(role, server, uri).allowed;
  }

  /** Tells whether a role may use every resource that a template can make. */
  allowsTemplate(role: string, server: string, template: string): boolean {
    return this.allowsResource(role, server, templateShape(template));
  }

  /** Answers like {@link allowsPrompt}, and adds the reason. */
  explainPrompt(role: string, name: string, origin?: ToolOrigin): AllowlistRule {
    return this.#explain(role, 'prompts', (pattern) => matchesTool(pattern, name, origin));
  }

  /** Answers like {@link allowsResource}, and adds the reason. */
  explainResource(role: string, server: string, uri: string): AllowlistRule {
    return this.#explain(role, 'resources', (pattern) => matchesResource(pattern, server, uri));
  }

  #explain(
    role: string,
    kind: keyof McpContentPatterns,
    matches: (pattern: string) => boolean,
  ): AllowlistRule {
    const patterns = this.#patternsOf(role, kind);
    if (patterns === 'all') return { allowed: true, rule: 'unlisted: allow' };
    if (role === 'observer') return { allowed: false, rule: 'an observer uses nothing' };
    if (!this.#entries.has(role)) return { allowed: false, rule: unlistedRule(role, this.#entries.keys()) };
    const pattern = patterns.find(matches);
    if (pattern !== undefined) return { allowed: true, rule: `roles.${role}.${kind}: '${pattern}'` };
    const why = patterns.length === 0 ? 'none' : 'no pattern matches';
    return { allowed: false, rule: `roles.${role}.${kind}: ${why}` };
  }

  #mayUseSome(role: string, kind: keyof McpContentPatterns): boolean {
    return this.#patternsOf(role, kind).length > 0;
  }

  #patternsOf(role: string, kind: keyof McpContentPatterns): readonly string[] | 'all' {
    if (role === 'observer') return [];
    const entry = this.#entries.get(role);
    if (entry) return entry[kind] ?? [];
    return this.#unlisted === 'allow' ? 'all' : [];
  }
}
