import { messageOf, SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { askOrchestrator } from '../executor/orchestrator-question.ts';
import type { InboxMessage } from '../mailbox/inbox/inbox-message.ts';
import type { AgentSetup } from '../runner/agent-plan.ts';
import type { AskPerson } from './program/turn-program.ts';

export interface TurnQuestionsOptions extends Pick<AgentSetup, 'agent' | 'url' | 'insecure' | 'authorities'> {
  /** The token of the turn. */
  token: string;
  /** The messages of the turn. */
  messages: readonly Pick<InboxMessage, 'id' | 'from'>[];
  /** The thread of the turn, to which its questions belong. */
  thread: string | undefined;
  /** The agent id of the orchestrator; default `orchestrator`. */
  orchestrator?: string | undefined;
  tracing?: Tracing | undefined;
}

/** The questions of one turn to people. Disposing it cancels those that are open. */
export interface TurnQuestions extends AsyncDisposable {
  ask: AskPerson;
  /** Has the audit log note a use of a tool that is allowed without a question. Rejects if that can't be. */
  note(use: { cli: string; tool: string }): Promise<void>;
}

/** The errors that are decisions: by a person, by the time, or by the bounds of what a person can be asked. */
const decisions: ReadonlySet<string> = new Set([
  'approval_denied',
  'approval_expired',
  'approval_superseded',
  'quota_exceeded',
  'invalid_arguments',
]);

/** The longest wait until the audit log has noted something, in milliseconds. */
const noteMs = 5_000;

/** Opens the questions of a turn. It connects with the first one. */
export function turnQuestions(options: TurnQuestionsOptions): TurnQuestions {
  const { url, insecure, authorities, agent, token, messages, thread, orchestrator, tracing } = options;
  const over = new AbortController();
  let connecting: Promise<McpProxyExecutor> | undefined;
  const connect = (): Promise<McpProxyExecutor> => {
    if (connecting) return connecting;
    connecting = McpProxyExecutor.connect({
      ...{ url, insecure, agent, token, tracing },
      ...(authorities && { ca: authorities.pem }),
      ...(thread !== undefined && { thread }),
      ...(orchestrator !== undefined && { orchestrator }),
      signal: over.signal,
    });
    // The next question tries again.
    connecting.catch(() => {
      connecting = undefined;
    });
    return connecting;
  };
  return {
    async ask({ cli, tool, input, once, replaces }, { id, signal }) {
      try {
        const executor = await connect();
        const { error } = await executor.askPermission(
          { cli, tool, input, ...(once && { once }), ...(replaces !== undefined && { replaces }) },
          { requestId: id, signal },
        );
        if (!error) return { isAllowed: true };
        const isDecided = decisions.has(error.code);
        return { isAllowed: false, reason: `${cli}:${tool}: ${error.message}`, isDecided };
      } catch (thrown) {
        const reason = `${cli}:${tool}: nobody could be asked: ${messageOf(thrown)}`;
        return { isAllowed: false, reason, isDecided: false };
      }
    },
    async note({ cli, tool }) {
      const [message] = messages;
      if (!message) return;
      const executor = await within(connect(), noteMs, over.signal);
      if (executor === late) throw new SignalboxError('timed_out', 'the orchestrator does not answer');
      const { id, from } = message;
      const body = { op: 'note_permission', cli, tool, message: { id, from } };
      const how = { timeoutMs: noteMs, signal: over.signal };
      const { error } = await askOrchestrator(executor, body, how);
      if (error) throw new SignalboxError(error.code, error.message);
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      const executor = await connecting?.catch(() => undefined);
      await executor?.close();
    },
  };
}
