import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { classifyInboundRequest, createMcpHandler } from '@modelcontextprotocol/server';
import { messageOf } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { type AgentToolsOptions, openAgentTools } from '../face/agent-tools.ts';
import { createFaceServer } from '../sdk/face-server.ts';
import { refusalResponse, unavailable } from '../sdk/http-refusal.ts';
import { type FaceRequest, requestIdOf } from '../sdk/http-request.ts';
import { LegacySessions } from '../sdk/legacy-sessions.ts';
import { RunningCalls } from '../tools/running-calls.ts';

export interface FaceAgentOptions extends AgentToolsOptions {
  version: string;
  heartbeatMs?: number;
  maxSessions: number;
  sessionIdleMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** One agent of an HTTP face: its connection, its tools, its sessions and streams. */
export interface FaceAgent {
  readonly executor: McpProxyExecutor;
  /** Never rejects. */
  answer(request: FaceRequest): Promise<Response>;
  /** Since when nobody uses it, in the clock's milliseconds; `undefined` while it has a session or waits for an answer. */
  idleSince(): number | undefined;
  /** Ends the sessions that are left alone. */
  sweep(): Promise<void>;
  /** Cancels what runs, lets the answers out, ends sessions, streams and the connection. */
  close(): Promise<void>;
}

/** Takes the executor over. */
export function openFaceAgent(executor: McpProxyExecutor, options: FaceAgentOptions): FaceAgent {
  const { version, heartbeatMs, now, log = () => {} } = options;
  const running = new RunningCalls();
  const tools = openAgentTools(executor, options);
  const createServer = (onlyMethod?: string) =>
    createFaceServer(tools, {
      version,
      running,
      ...(heartbeatMs !== undefined && { heartbeatMs }),
      ...(onlyMethod !== undefined && { onlyMethod }),
    });
  const report = (thrown: unknown) => log({ event: 'mcp_face_error', reason: messageOf(thrown) });
  // The SDK has compared this header with the body by now.
  const modern = createMcpHandler(
    ({ requestInfo }) => createServer(requestInfo?.headers.get('mcp-method') ?? undefined),
    { legacy: 'reject', onerror: report },
  );
  const sessions = new LegacySessions({
    createServer,
    newSessionId: randomUUID,
    maxSessions: options.maxSessions,
    idleMs: options.sessionIdleMs,
    now,
  });
  const forget = tools.onChanged(() => {
    modern.notify.toolsChanged();
    sessions.announceListChanged();
  });
  let lastUsedAt = now();
  let closing: Promise<void> | undefined;

  async function answer(request: FaceRequest): Promise<Response> {
    if (closing) return refusalResponse(unavailable('this face is ending'), requestIdOf(request.message));
    lastUsedAt = now();
    try {
      return isLegacy(request)
        ? await sessions.answer(request)
        : await modern.fetch(webRequest(request), { parsedBody: request.message });
    } catch (thrown) {
      report(thrown);
      const refusal = { status: 500, code: -32603, message: 'the face failed; its log says why' };
      return refusalResponse(refusal, requestIdOf(request.message));
    } finally {
      lastUsedAt = now();
    }
  }

  async function shut(): Promise<void> {
    forget();
    running.cancelAll();
    await running.settled();
    // The SDK sends an answer in the turn in which its handler is done.
    await nextTurn();
    await modern.close();
    await sessions.close();
    await tools[Symbol.asyncDispose]();
    await executor.close();
  }

  return {
    executor,
    answer,
    idleSince: () => (sessions.size > 0 || tools.isAsking() ? undefined : lastUsedAt),
    sweep: () => sessions.sweep(),
    close: () => {
      closing ??= shut();
      return closing;
    },
  };
}

/** By the SDK's own rule: what is not a sound request of the current revision has its refusal from the SDK, too. */
function isLegacy({ method, headers, message }: FaceRequest): boolean {
  const version = headers['mcp-protocol-version'];
  const named = headers['mcp-method'];
  const tool = headers['mcp-name'];
  const outcome = classifyInboundRequest({
    httpMethod: method,
    body: message,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(named !== undefined && { mcpMethodHeader: named }),
    ...(tool !== undefined && { mcpNameHeader: tool }),
  });
  return outcome.kind === 'legacy';
}

/** For the SDK, which takes requests of the web's form. The body travels beside it, parsed. */
function webRequest({ method, headers, signal }: FaceRequest): Request {
  return new Request('http://localhost/mcp', { method, headers, signal });
}
