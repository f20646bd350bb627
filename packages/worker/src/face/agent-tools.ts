import type { Log } from '@signalbox/client';
import type { MailboxToolName } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { MailHint } from '../mailbox/inbox/mail-hint.ts';
import { mentionMail } from '../mailbox/inbox/mention-mail.ts';
import type { Mentioned } from '../mailbox/inbox/mentioned.ts';
import { type Mailbox, type MailboxSettings, mailboxTools } from '../mailbox/mailbox-tools.ts';
import type { TurnRef } from '../mailbox/served/turn-messages.ts';
import { permissionTools } from '../permissions/permission-tool.ts';
import { resultTools } from '../results/result-tools.ts';
import { searchTools } from '../search/search-tools.ts';
import { type FaceTasks, hostedTasks } from '../tasks/hosted-tasks.ts';
import { type AgentStatus, createAgentStatus } from '../tools/agent-status.ts';
import { CallsUnderWay } from '../tools/calls-under-way.ts';
import { combinedTools } from '../tools/combined-tools.ts';
import type { FaceMcpContent } from '../tools/face-mcp-content.ts';
import type { FaceTools } from '../tools/face-tools.ts';
import { hostedMcpContent } from '../tools/hosted-mcp-content.ts';
import { hostedTools } from '../tools/hosted-tools.ts';
import { ReadPages } from '../tools/read-pages.ts';
import { SeenLinks } from '../tools/seen-links.ts';

/** Options that choose the tools of an agent. */
export interface AgentToolsOptions extends MailboxSettings {
  /** `search` replaces the orchestrator's list with two tools, one to find tools and one to call them. Default `all`. */
  toolList?: 'all' | 'search';
  /** Set if the tools include the one by which the agent's CLI asks a person for permissions. */
  permissions?: 'ask' | undefined;
  /** The longest time for which a search waits for the orchestrator's answer, also while none is connected; default 10 s. */
  searchTimeoutMs?: number;
  /** True if the tools include the mailbox tools that the role may see. Default true. */
  mailbox?: boolean;
  /** Names the process that reads the inbox to the broker, if that process ends with its agent. */
  consumerId?: string;
  /** Set if the agent is served: the turn for which this process was started. */
  turn?: TurnRef;
  /** The time after which a call that waits for a person's decision returns; by default that of its client (`patienceMs`). */
  pendingAfterMs?: number;
  /**
   * The time after which a call becomes a task, if its client takes tasks (MCP 2026-07-28, SEP-2663); default 45 s. One that waits for a
   * person becomes one at once.
   */
  taskAfterMs?: number;
  /** Remembers the mail that hints have mentioned; by default for these tools alone. */
  mentioned?: Mentioned;
  /** Called when a client lists the tools for the first time. */
  onListed?: (() => void) | undefined;
  log?: Log;
}

/** All tools of one agent, for any number of connections that show them. Disposing it leaves the executor open. */
export interface AgentTools extends FaceTools, AsyncDisposable {
  readonly status: AgentStatus;
  /** The prompts and resources that the agent may see. */
  readonly mcpContent: FaceMcpContent;
  /** The pages of MCP Apps that the agent's client has read. */
  readonly pages: ReadPages;
  /** The agent's calls that are tasks. */
  readonly tasks: FaceTasks;
  /** Returns true if disposing the tools would lose something: the agent waits for an answer, or holds messages of groups. */
  isInUse(): boolean;
  /** Gives back the group messages that a session of the client took (`FaceCall.session`), because it has ended. Never rejects. */
  sessionEnded(session: string): Promise<void>;
  /** Returns a hint at mail of which the agent was not told yet. Returning it counts as telling. */
  newMailHint(): Promise<MailHint | undefined>;
}

/** Opens the tools of the executor's agent. */
export function openAgentTools(executor: McpProxyExecutor, options: AgentToolsOptions = {}): AgentTools {
  const { toolList = 'all' } = options;
  const calls = new CallsUnderWay();
  const { pendingAfterMs, taskAfterMs } = options;
  const canLookUp = () => options.mailbox !== false && isShown(executor, 'signalbox_call_result');
  const links = new SeenLinks();
  const hosting = { calls, links, canLookUp, pendingAfterMs, taskAfterMs };
  const hosted =
    toolList === 'search'
      ? searchTools(executor, { ...options, ...hosting })
      : hostedTools(executor, hosting);
  const mailbox = options.mailbox === false ? undefined : mailboxTools(executor, { ...options, calls });
  const results = resultTools(executor);
  const own = mailbox ? withMailbox(mailbox, results, hosted) : combinedTools([results, hosted]);
  const tools = options.permissions === 'ask' ? combinedTools([permissionTools(executor), own]) : own;
  const isListed = (name: string) =>
    executor.findTool(name) !== undefined || tools.list().some((tool) => tool.name === name);
  const pages = new ReadPages({ asker: executor, isListed });
  return {
    ...tools,
    mcpContent: hostedMcpContent(executor, { links, pages }),
    pages,
    tasks: hostedTasks(executor, links),
    isInUse: () => mailbox?.isInUse() ?? false,
    sessionEnded: async (session) => await mailbox?.sessionEnded(session),
    newMailHint: async () => await mailbox?.unread.lookForHint(),
    status: createAgentStatus((status) => executor.client.announce(status), { onListed: options.onListed }),
    async [Symbol.asyncDispose]() {
      await mailbox?.[Symbol.asyncDispose]();
    },
  };
}

function isShown({ mailbox }: McpProxyExecutor, tool: MailboxToolName): boolean {
  return mailbox === undefined || (mailbox !== false && mailbox.includes(tool));
}

/**
 * Adds the mailbox tools. They come first: some clients read only the first page of a list, or show only the first line of the
 * instructions. The hosted tools come last, because they accept every name.
 */
function withMailbox(mailbox: Mailbox, results: FaceTools, hosted: FaceTools): FaceTools {
  return combinedTools([mailbox, results, mentionMail(hosted, mailbox.unread)]);
}
