import { messageOf } from '@signalbox/protocol';
import type { Tracing } from '@signalbox/serving/tracing';
import { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { AgentSetup } from '../runner/agent-plan.ts';
import type { AskPerson } from './program/turn-program.ts';

export interface TurnQuestionsOptions extends Pick<AgentSetup, 'agent' | 'url' | 'insecure' | 'authorities'> {
  /** The token of the turn. */
  token: string;
  /** The thread of the turn, to which its questions belong. */
  thread: string | undefined;
  /** The agent id of the orchestrator; default `orchestrator`. */
  orchestrator?: string | undefined;
  tracing?: Tracing | undefined;
}

/** The questions of one turn to people. Disposing it cancels those that are open. */
export interface TurnQuestions extends AsyncDisposable {
  ask: AskPerson;
}

/** The errors that are decisions: by a person, by the time, or by the bounds of what a person can be asked. */
const decisions: ReadonlySet<string> = new Set([
  'approval_denied',
  'approval_expired',
  'approval_superseded',
  'quota_exceeded',
  'invalid_arguments',
]);

/** Opens the questions of a turn. It connects with the first one. */
export function turnQuestions(options: TurnQuestionsOptions): TurnQuestions {
  const { url, insecure, authorities, agent, token, thread, orchestrator, tracing } = options;
  const over = new AbortController();
  let connecting: Promise<McpProxyExecutor> | undefined;
  const connect = () =>
    McpProxyExecutor.connect({
      ...{ url, insecure, agent, token, tracing },
      ...(authorities && { ca: authorities.pem }),
      ...(thread !== undefined && { thread }),
      ...(orchestrator !== undefined && { orchestrator }),
      signal: over.signal,
    });
  return {
    async ask({ cli, tool, input, once, replaces }, { id, signal }) {
      try {
        connecting ??= connect();
        const executor = await connecting;
        const { error } = await executor.askPermission(
          { cli, tool, input, ...(once && { once }), ...(replaces !== undefined && { replaces }) },
          { requestId: id, signal },
        );
        if (!error) return { isAllowed: true };
        const isDecided = decisions.has(error.code);
        return { isAllowed: false, reason: `${cli}:${tool}: ${error.message}`, isDecided };
      } catch (thrown) {
        // The next question tries again.
        connecting = undefined;
        const reason = `${cli}:${tool}: nobody could be asked: ${messageOf(thrown)}`;
        return { isAllowed: false, reason, isDecided: false };
      }
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      const executor = await connecting?.catch(() => undefined);
      await executor?.close();
    },
  };
}
