import { messageOf } from '@signalbox/protocol';
import { Budget } from '@signalbox/protocol/internal';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { type AgentToolsOptions, openAgentTools } from '../face/agent-tools.ts';
import { openHttpEndpoint } from '../sdk/http-endpoint.ts';
import { refusalResponse, unavailable } from '../sdk/http-refusal.ts';
import { type FaceRequest, requestIdOf } from '../sdk/http-request.ts';
import { keptOpen } from '../sdk/kept-open.ts';
import type { SessionIds } from '../sdk/session-id.ts';

export interface FaceAgentOptions extends AgentToolsOptions {
  version: string;
  heartbeatMs?: number;
  /** Makes the ids of the sessions of its token. */
  sessionIds: SessionIds;
  maxSessions: number;
  /** The bytes of its requests that are read per second in the long run; twice as many at once. */
  bytesPerSecond: number;
  sessionIdleMs: number;
  /** See `HttpFaceTimes.silenceMs`. */
  silenceMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** One agent of an HTTP face: its connection, its tools, its sessions and streams. */
export interface FaceAgent {
  readonly executor: McpProxyExecutor;
  /** Counts the bytes of the agent's requests; bytes beyond the budget are read later. */
  readonly bytes: Budget;
  /** Answers a request. Never rejects. */
  answer(request: FaceRequest): Promise<Response>;
  /**
   * Returns the time since which nobody uses the agent, in the clock's milliseconds; `undefined` while one of its sessions is awake or
   * waits for an answer.
   */
  idleSince(): number | undefined;
  /** Puts unused sessions to sleep. */
  sweep(): Promise<void>;
  /** Cancels the running calls, lets their answers out, and ends sessions, streams and the connection to the broker. */
  close(): Promise<void>;
}

/** Opens the tools of an agent to HTTP clients. The executor is closed with it. */
export function openFaceAgent(executor: McpProxyExecutor, options: FaceAgentOptions): FaceAgent {
  const { version, heartbeatMs, sessionIds, maxSessions, sessionIdleMs, now, log = () => {} } = options;
  const report = (thrown: unknown) => log({ event: 'mcp_face_error', reason: messageOf(thrown) });
  const tools = openAgentTools(executor, options);
  const { tracing, agent } = executor;
  const endpoint = openHttpEndpoint(tools, {
    version,
    trace: tracing && { tracing, agent, transport: 'tcp' },
    heartbeatMs,
    sessionIds,
    maxSessions,
    sessionIdleMs,
    now,
    onSessionEnded: (session) => tools.sessionEnded(session),
    onError: report,
  });
  const stopAnnouncing = tools.onChanged(() => endpoint.announceListChanged());
  const stopAnnouncingOffers = tools.offers.onChanged((changed) => endpoint.announceOffersChanged(changed));
  let lastUsedAt = now();
  let closing: Promise<void> | undefined;

  function answer(request: FaceRequest): Promise<Response> {
    const answering = answerOrRefuse(request);
    const mayStream = request.method === 'POST' && request.streams;
    return mayStream ? keptOpen(answering, options.silenceMs) : answering;
  }

  async function answerOrRefuse(request: FaceRequest): Promise<Response> {
    if (closing) return refusalResponse(unavailable('this face is ending'), requestIdOf(request.message));
    lastUsedAt = now();
    try {
      return await endpoint.answer(request);
    } catch (thrown) {
      report(thrown);
      const refusal = { status: 500, code: -32603, message: 'the face failed; its log says why' };
      return refusalResponse(refusal, requestIdOf(request.message));
    } finally {
      lastUsedAt = now();
    }
  }

  async function shutDown(): Promise<void> {
    // The stack runs these steps from the last to the first, even if some of them fail.
    await using steps = new AsyncDisposableStack();
    steps.use(executor);
    steps.use(tools);
    steps.defer(() => endpoint.close());
    stopAnnouncing();
    stopAnnouncingOffers();
  }

  return {
    executor,
    bytes: new Budget(options.bytesPerSecond, 2 * options.bytesPerSecond, now()),
    answer,
    idleSince: () => (endpoint.sessionCount > 0 || tools.isInUse() ? undefined : lastUsedAt),
    sweep: () => endpoint.sweep(),
    close: () => {
      closing ??= shutDown();
      return closing;
    },
  };
}
