import type { Inventory } from '@signalbox/mcp-host';
import { ClientForms } from '@signalbox/mcp-host/argument-check';
import { ToolDigests } from '@signalbox/mcp-host/tool-calls';
import { type McpContentKinds, type Tool, withAskDeadline, withClientForms } from '@signalbox/protocol';
import { type ApprovalPolicy, mayAsk } from '../approvals/ask-rules.ts';
import { mcpContentOfRole, type RoleMcpContent, withReadablePages } from '../mcp-content/role-mcp-content.ts';
import type { McpContentRules } from '../mcp-content/route-mcp-content.ts';
import { noPages, pageOf, toolPages } from '../mcp-content/tool-pages.ts';
import type { ToolPolicy } from '../operator/policy.ts';
import { withKeptResults } from '../results/output-schema.ts';
import { type ResultRules, resultRuleOf } from '../results/result-rules.ts';
import { type AllowlistWarning, unmatchedPatterns } from '../roles/allowlist-warnings.ts';
import type { MailboxRule } from '../roles/mailbox-rules.ts';
import { McpContentAllowlist } from '../roles/mcp-content-allowlist.ts';
import type { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';
import {
  createMcpContentIndex,
  type FoundMcpContent,
  type McpContentIndex,
} from '../search/mcp-content-index.ts';
import { createToolIndex, type FoundTool, type ToolIndex } from '../search/tool-index.ts';

/** The part of a catalog that one role sees. */
export interface RoleView {
  /** A text that changes exactly when another field of the view does. */
  version: string;
  tools: readonly Tool[];
  /** The prompts, resources, templates and instructions that the role sees. */
  mcpContent: RoleMcpContent;
  /**
   * True if the role may also call tools that no list shows, or whose definitions are withheld: calls of these get an error that names
   * them.
   */
  hasUnlisted: boolean;
  /** The part of its mailbox that the role sees. */
  mailbox: MailboxRule;
  /** True if large results of the role's calls are kept. */
  keepsResults: boolean;
  /** Finds a tool of this view by its exact name. */
  find(tool: string): Tool | undefined;
  /** Finds up to `limit` tools that match the words of a query, best first. */
  search(query: string, limit: number): Promise<FoundTool[]>;
  /** Finds up to `limit` prompts, and as many resources and templates, best first. A kind that the role has none of is left out. */
  searchMcpContent(query: string, limit: number): Promise<Partial<FoundMcpContent>>;
}

/** An inventory under an allowlist, as each role sees it. A view is made when it is first needed, and kept. */
export interface Catalog {
  readonly inventory: Inventory;
  readonly allowlist: RoleToolAllowlist;
  readonly approvals: ApprovalPolicy;
  /** The rules which decide what results of each role are kept. */
  readonly results: ResultRules;
  /** The rules by which requests for resources and prompts find their servers. */
  readonly mcpContentRules: McpContentRules;
  /** Returns what `role` sees. */
  view(role: string): RoleView;
  /** Returns the view of all listed tools, which no allowlist restricts. */
  everything(): RoleView;
  /** Finds any tool by its exact name. The allowlist does not restrict it, and the tool need not be listed. */
  tool(name: string): Tool | undefined;
  /** Returns the patterns of roles that match nothing. They are looked for once, since operators' pages ask often. */
  unmatched(): readonly AllowlistWarning[];
}

/**
 * Creates the catalog of one inventory, whose tools already bear the operator's lists of what may be repeated. Tools whose calls may have
 * to wait for a decision show the longest wait, and those that some clients would not show as they are meant bear forms for these. Without
 * an entry in `mailbox`, a role sees all mailbox tools.
 */
export function createCatalog(
  inventory: Inventory,
  { allowlist, mcpContent: mcpContentAllowlist, mailbox, approvals, results, repeat }: ToolPolicy,
  { digests = new ToolDigests(), clientForms = new ClientForms() } = {},
): Catalog {
  const views = new Map<string, RoleView>();
  const byName = new Map([...inventory.tools, ...inventory.hidden].map((tool) => [tool.name, tool]));
  // A call of a withheld tool is answered with the reason.
  const unlisted = [...inventory.hidden.map(({ name }) => name), ...inventory.changed.keys()];
  const mcpContentRules = {
    mcpContent: inventory.mcpContent,
    allowlist: mcpContentAllowlist,
    pages: toolPages(inventory, allowlist),
  };
  let everything: RoleView | undefined;
  let warnings: AllowlistWarning[] | undefined;
  const withAskDeadlines = (tools: readonly Tool[], role: string): Tool[] =>
    tools.map((tool) => {
      const asks = mayAsk(approvals, role, { tool, origin: inventory.origins.get(tool.name) });
      return withAskDeadline(tool, asks ? approvals.deadlineMs : undefined);
    });
  return {
    inventory,
    allowlist,
    approvals,
    results,
    mcpContentRules,
    view(role) {
      let view = views.get(role);
      if (!view) {
        const hasUnlisted = unlisted.some((name) =>
          allowlist.allows(role, name, inventory.origins.get(name)),
        );
        const own = Object.hasOwn(mailbox, role) ? mailbox[role] : undefined;
        const keepsResults = resultRuleOf(results, role) !== undefined;
        const allowed = allowlist.filterManifest(role, inventory.tools, inventory.origins);
        const readable = withReadablePages(mcpContentRules, role, allowed, inventory.origins);
        const formed = readable.map((tool) => withClientForms(tool, clientForms.of(tool.inputSchema).forms));
        const tools = withAskDeadlines(keepsResults ? formed.map(withKeptResults) : formed, role);
        const shown = mcpContentOfRole(mcpContentRules, role, usesToolOf(inventory, tools));
        // Kept results and the pages of tools are read as resources.
        const mcpContent =
          keepsResults || tools.some((tool) => pageOf(tool) !== undefined)
            ? { ...shown, kinds: { ...shown.kinds, resources: true as const } }
            : shown;
        view = createView({ tools, mcpContent, hasUnlisted, mailbox: own ?? {}, keepsResults }, digests);
        views.set(role, view);
      }
      return view;
    },
    everything() {
      const { tools } = inventory;
      const rules = {
        mcpContent: inventory.mcpContent,
        allowlist: McpContentAllowlist.unrestricted(),
        pages: noPages,
      };
      const mcpContent = mcpContentOfRole(rules, '', () => true);
      everything ??= createView(
        { tools, mcpContent, hasUnlisted: unlisted.length > 0, mailbox: {}, keepsResults: false },
        digests,
      );
      return everything;
    },
    tool: (name) => byName.get(name),
    unmatched() {
      const policy = { allowlist, mcpContent: mcpContentAllowlist, approvals, repeat };
      warnings ??= unmatchedPatterns(policy, inventory);
      return warnings;
    },
  };
}

/** Returns a function that tells whether one of the tools belongs to a server. */
function usesToolOf({ origins }: Inventory, tools: readonly Tool[]): (server: string) => boolean {
  const servers = new Set(tools.map(({ name }) => origins.get(name)?.server));
  return (server) => servers.has(server);
}

function createView(
  shown: Pick<RoleView, 'tools' | 'mcpContent' | 'hasUnlisted' | 'mailbox' | 'keepsResults'>,
  digests: ToolDigests,
): RoleView {
  const { tools, mcpContent, hasUnlisted, mailbox, keepsResults } = shown;
  const { prompts, resources, templates, kinds, instructions } = mcpContent;
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const version = digests.ofAll(
    [tools, prompts, resources, templates],
    [hasUnlisted, mailbox.tools, mailbox.unreadHint, kinds, instructions, keepsResults],
  );
  let index: Promise<ToolIndex> | undefined;
  let mcpContentIndex: Promise<McpContentIndex> | undefined;
  return {
    version,
    ...shown,
    find: (tool) => byName.get(tool),
    async search(query, limit) {
      index ??= createToolIndex(tools);
      return (await index).search(query, limit);
    },
    async searchMcpContent(query, limit) {
      if (Object.keys(kinds).length === 0) return {};
      mcpContentIndex ??= createMcpContentIndex(mcpContent);
      const found = (await mcpContentIndex).search(query, limit);
      return {
        ...(kinds.prompts && { prompts: found.prompts }),
        ...(kinds.resources && { resources: found.resources }),
      };
    },
  };
}

/** Returns the kinds beside tools in which two views differ. */
export function changedKinds(
  { mcpContent: before }: RoleView,
  { mcpContent: after }: RoleView,
): McpContentKinds {
  const differ = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other);
  const { resources, templates } = before;
  return {
    ...(differ(before.prompts, after.prompts) && { prompts: true }),
    ...(differ([resources, templates], [after.resources, after.templates]) && { resources: true }),
  };
}

/** The names of the tools in which two views differ. `changed` tools are in both, with different definitions. */
export interface ViewChange {
  added: string[];
  removed: string[];
  changed: string[];
}

/** Compares a role's view of one catalog with its view of the next. */
export function viewChange(before: RoleView, after: RoleView): ViewChange {
  const stayed = after.tools.filter((tool) => before.find(tool.name));
  return {
    added: namesOf(after.tools.filter((tool) => !before.find(tool.name))),
    removed: namesOf(before.tools.filter((tool) => !after.find(tool.name))),
    changed: namesOf(stayed.filter((tool) => !isSameTool(tool, before.find(tool.name)))),
  };
}

function isSameTool(tool: Tool, other: Tool | undefined): boolean {
  return tool === other || JSON.stringify(tool) === JSON.stringify(other);
}

function namesOf(tools: readonly Tool[]): string[] {
  return tools.map((tool) => tool.name);
}
