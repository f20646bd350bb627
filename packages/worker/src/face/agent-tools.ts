import type { Log } from '@signalbox/client';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { mentionUnread } from '../mailbox/inbox/unread.ts';
import { type Mailbox, type MailboxTimes, mailboxTools } from '../mailbox/mailbox-tools.ts';
import { searchTools } from '../search/search-tools.ts';
import { type AgentStatus, createAgentStatus } from '../tools/agent-status.ts';
import { combinedTools } from '../tools/combined-tools.ts';
import type { FaceTools } from '../tools/face-tools.ts';
import { hostedTools } from '../tools/hosted-tools.ts';
import { RecentCalls } from '../tools/recent-calls.ts';

/** Options that choose the tools of an agent. */
export interface AgentToolsOptions extends MailboxTimes {
  /** `search`: two tools, to find and to call, in place of the whole list of the orchestrator's. Default `all`. */
  toolList?: 'all' | 'search';
  /** How long a search waits for the orchestrator's answer, also while none is connected; default 10 s. */
  searchTimeoutMs?: number;
  /** Whether the mailbox tools are among them, as far as the role may see them. Default true. */
  mailbox?: boolean;
  /** Names the process that reads the inbox to the broker, if that process ends with its agent. */
  consumerId?: string;
  log?: Log;
}

/** All tools of one agent, whatever the number of connections that show them. Disposing it leaves the executor alone. */
export interface AgentTools extends FaceTools, AsyncDisposable {
  readonly status: AgentStatus;
  /** Whether the agent waits for an answer that would be lost if these were disposed. */
  isAsking(): boolean;
}

/** Opens the tools of the executor's agent. */
export function openAgentTools(executor: McpProxyExecutor, options: AgentToolsOptions = {}): AgentTools {
  const { toolList = 'all' } = options;
  const calls = new RecentCalls(Date.now);
  const hosted =
    toolList === 'search' ? searchTools(executor, { ...options, calls }) : hostedTools(executor, calls);
  const mailbox = options.mailbox === false ? undefined : mailboxTools(executor, { ...options, calls });
  const tools = mailbox ? withMailbox(hosted, mailbox) : hosted;
  return {
    ...tools,
    isAsking: () => mailbox?.isAsking() ?? false,
    status: createAgentStatus((status) => executor.client.announce(status)),
    async [Symbol.asyncDispose]() {
      await mailbox?.[Symbol.asyncDispose]();
    },
  };
}

/**
 * Adds the mailbox tools. They come first: some clients read only the first page of a list, and the hosted tools accept every name.
 */
function withMailbox(hosted: FaceTools, mailbox: Mailbox): FaceTools {
  return combinedTools([mailbox, mentionUnread(hosted, mailbox.unread)]);
}
