import type { Inventory } from '@signalbox/mcp-host';
import { type MailboxAccess, type Tool, type UnreadHint, withAskDeadline } from '@signalbox/protocol';
import { ToolDigests } from '@signalbox/tool-calls';
import { type ApprovalPolicy, mayAsk, noApprovals } from '../approvals/ask-rules.ts';
import type { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';
import { createToolIndex, type FoundTool, type ToolIndex } from '../search/tool-index.ts';

/** The part of a catalog that one role sees. */
export interface RoleView {
  /** Changes exactly when the tools change, or what the role may see of unlisted and mailbox tools. */
  version: string;
  tools: readonly Tool[];
  /** Whether the role may also call tools that no list shows. */
  hasUnlisted: boolean;
  /** The part of its mailbox that the role sees. */
  mailbox: MailboxRule;
  /** Finds a tool of this view by its exact name. */
  find(tool: string): Tool | undefined;
  /** Finds up to `limit` tools that match the words of a query, best first. */
  search(query: string, limit: number): Promise<FoundTool[]>;
}

/** The part of its mailbox that a role sees. */
export interface MailboxRule {
  /** The mailbox tools that it may see; all by default. */
  tools?: MailboxAccess;
  /** The way in which its agents are told of new mail; by default their faces decide that. */
  unreadHint?: UnreadHint;
}

/** The part of its mailbox that each role sees. A role without an entry sees all tools. */
export type MailboxRules = Readonly<Record<string, MailboxRule>>;

/** An inventory under an allowlist, as each role sees it. A view is made when it is first needed, and kept. */
export interface Catalog {
  readonly inventory: Inventory;
  readonly allowlist: RoleToolAllowlist;
  readonly approvals: ApprovalPolicy;
  /** Returns what `role` sees. */
  view(role: string): RoleView;
  /** Returns the view of all listed tools, which no allowlist restricts. */
  everything(): RoleView;
  /** Finds any tool by its exact name. The allowlist does not restrict it, and the tool need not be listed. */
  tool(name: string): Tool | undefined;
}

/** Creates the catalog of one inventory. Tools whose calls may have to wait for a decision say how long. Without an entry in `mailbox`, a role sees all mailbox tools. */
export function createCatalog(
  inventory: Inventory,
  allowlist: RoleToolAllowlist,
  mailbox: MailboxRules = {},
  approvals: ApprovalPolicy = noApprovals,
  digests = new ToolDigests(),
): Catalog {
  const views = new Map<string, RoleView>();
  const byName = new Map([...inventory.tools, ...inventory.hidden].map((tool) => [tool.name, tool]));
  let everything: RoleView | undefined;
  const withAskDeadlines = (tools: readonly Tool[], role: string): Tool[] =>
    tools.map((tool) => {
      const asks = mayAsk(approvals, role, { tool, origin: inventory.origins.get(tool.name) });
      return withAskDeadline(tool, asks ? approvals.deadlineMs : undefined);
    });
  return {
    inventory,
    allowlist,
    approvals,
    view(role) {
      let view = views.get(role);
      if (!view) {
        const hasUnlisted = inventory.hidden.some(({ name }) =>
          allowlist.allows(role, name, inventory.origins.get(name)),
        );
        const own = Object.hasOwn(mailbox, role) ? mailbox[role] : undefined;
        view = createView(
          withAskDeadlines(allowlist.filterManifest(role, inventory.tools, inventory.origins), role),
          hasUnlisted,
          own ?? {},
          digests,
        );
        views.set(role, view);
      }
      return view;
    },
    everything() {
      everything ??= createView(inventory.tools, inventory.hidden.length > 0, {}, digests);
      return everything;
    },
    tool: (name) => byName.get(name),
  };
}

function createView(
  tools: readonly Tool[],
  hasUnlisted: boolean,
  mailbox: MailboxRule,
  digests: ToolDigests,
): RoleView {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const version = digests.ofAll([tools], [hasUnlisted, mailbox.tools, mailbox.unreadHint]);
  let index: Promise<ToolIndex> | undefined;
  return {
    version,
    tools,
    hasUnlisted,
    mailbox,
    find: (tool) => byName.get(tool),
    async search(query, limit) {
      index ??= createToolIndex(tools);
      return (await index).search(query, limit);
    },
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
