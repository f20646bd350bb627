import { messageOf } from '@signalbox/protocol';
import { Budget } from '@signalbox/serving';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { type AgentToolsOptions, openAgentTools } from '../face/agent-tools.ts';
import { openHttpEndpoint } from '../sdk/http-endpoint.ts';
import { unavailable } from '../sdk/http-refusal.ts';
import type { HttpReply } from '../sdk/http-reply.ts';
import { type FaceRequest, requestIdOf } from '../sdk/http-request.ts';
import { PastAnswers, type PastRoom } from '../sdk/past-answers.ts';
import type { SessionIds } from '../sdk/session-id.ts';
import type { TableAgent } from './agent-table.ts';

export interface FaceAgentOptions extends AgentToolsOptions {
  version: string;
  heartbeatMs?: number;
  /** Makes the ids of the sessions of its token. */
  sessionIds: SessionIds;
  maxSessions: number;
  /** The bytes of its requests that are read per second on average; twice as many may be read at once. */
  bytesPerSecond: number;
  sessionIdleMs: number;
  /** The room of the face for answers that clients may not have got. */
  pastRoom: PastRoom;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** One agent of an HTTP face: its connection, its tools, its sessions and streams. */
export interface FaceAgent extends TableAgent {
  /** Answers a request, also after it has resolved. Never rejects. */
  answer(request: FaceRequest, reply: HttpReply): Promise<void>;
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
    past: new PastAnswers(agent, options.pastRoom, now),
    now,
    onSessionEnded: (session) => tools.sessionEnded(session),
    onError: report,
  });
  const stopAnnouncing = tools.onChanged(() => endpoint.announceListChanged());
  const stopAnnouncingMcpContent = tools.mcpContent.onChanged((changed) =>
    endpoint.announceMcpContentChanged(changed),
  );
  let closing: Promise<void> | undefined;

  async function answer(request: FaceRequest, reply: HttpReply): Promise<void> {
    const id = requestIdOf(request.message);
    if (closing) return reply.refuse(unavailable('this face is ending'), id);
    try {
      await endpoint.answer(request, reply);
    } catch (thrown) {
      report(thrown);
      reply.refuse({ status: 500, code: -32603, message: 'the face failed; its log says why' }, id);
    }
  }

  async function shutDown(): Promise<void> {
    // The stack runs these steps from the last to the first, even if some of them fail.
    await using steps = new AsyncDisposableStack();
    steps.use(executor);
    steps.use(tools);
    steps.defer(() => endpoint.close());
    stopAnnouncing();
    stopAnnouncingMcpContent();
  }

  return {
    agent,
    role: executor.role,
    closed: executor.closed,
    bytes: new Budget(options.bytesPerSecond, 2 * options.bytesPerSecond, now()),
    answer,
    isInUse: () => endpoint.sessionCount > 0 || tools.isInUse(),
    sweep: () => endpoint.sweep(),
    // Cancels the running calls, lets their answers out, and ends sessions, streams and the connection to the broker.
    close: () => {
      closing ??= shutDown();
      return closing;
    },
  };
}
