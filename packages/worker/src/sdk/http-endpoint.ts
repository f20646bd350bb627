import { classifyInboundRequest, createMcpHandler } from '@modelcontextprotocol/server';
import type { OfferedKinds } from '@signalbox/protocol';
import { type AgentFaceTools, type AnswerDeps, cancelCalls } from './answer-call.ts';
import { DirectCalls } from './direct-calls.ts';
import { createFaceServer } from './face-server.ts';
import { refusalResponse } from './http-refusal.ts';
import { type FaceRequest, requestIdOf } from './http-request.ts';
import { LegacySessions } from './legacy-sessions.ts';
import { followListened, listensToResources } from './listened-resources.ts';
import { paramMismatch } from './param-headers.ts';
import { RunningCalls } from './running-calls.ts';
import type { SessionIds } from './session-id.ts';
import { listensUndeclared, undeclared } from './task-requests.ts';

/** The JSON-RPC code of MCP 2026-07-28 for headers that contradict the body. */
const headerMismatch = -32020;

export interface HttpEndpointOptions {
  /** The version that we report to clients. */
  version: string;
  heartbeatMs?: number | undefined;
  /** See `AnswerDeps.trace`. */
  trace: AnswerDeps['trace'];
  /** Makes the ids of the sessions of clients of the revisions up to 2025-11-25. */
  sessionIds: SessionIds;
  maxSessions: number;
  sessionIdleMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Called when a session has ended or sleeps, to give back everything that is held for `FaceCall.session`. Must not reject. */
  onSessionEnded: (session: string) => Promise<void>;
  onError: (error: Error) => void;
}

/** All HTTP clients of one agent's tools, of every revision of MCP. */
export interface HttpEndpoint {
  answer(request: FaceRequest): Promise<Response>;
  /** The number of sessions of clients of the revisions up to 2025-11-25 that are awake. */
  readonly sessionCount: number;
  /** Tells every client that listens that the list of tools has changed. */
  announceListChanged(): void;
  /** Tells every client that listens which other lists have changed. */
  announceOffersChanged(changed: OfferedKinds): void;
  /** Puts unused sessions to sleep. */
  sweep(): Promise<void>;
  /** Cancels the running calls, lets their answers reach the clients, and ends all sessions and streams. */
  close(): Promise<void>;
}

/** Serves an agent's tools over HTTP: requests of the current revision one by one, those of earlier revisions in sessions. */
export function openHttpEndpoint(tools: AgentFaceTools, options: HttpEndpointOptions): HttpEndpoint {
  const { version, heartbeatMs, trace, sessionIds, maxSessions, sessionIdleMs, now } = options;
  const { onSessionEnded, onError } = options;
  const running = new RunningCalls();
  const createServer = (own: { isModern: boolean; onlyMethod?: string; session?: string }) =>
    createFaceServer({ tools, running, heartbeatMs, trace, version, ...own });
  // The SDK has checked by then that this header and the body name the same method.
  const current = createMcpHandler(
    ({ requestInfo }) => {
      const onlyMethod = requestInfo?.headers.get('mcp-method');
      return createServer({ isModern: true, ...(onlyMethod && { onlyMethod }) });
    },
    { legacy: 'reject', onerror: onError },
  );
  const sessions = new LegacySessions({
    createServer: (session) => ({
      server: createServer({ isModern: false, session }),
      directCalls: new DirectCalls({ tools, running, heartbeatMs, trace, session }),
    }),
    onEnded: onSessionEnded,
    ids: sessionIds,
    maxSessions,
    idleMs: sessionIdleMs,
    now,
  });
  const stopUpdates = tools.offers.onUpdated((uri) => current.notify.resourceUpdated(uri));
  /** Returns the reason why the headers of a call do not repeat its arguments as its tool demands. */
  const mismatchOf = ({ message, headers }: FaceRequest): string | undefined => {
    const { method, params } = (message ?? {}) as { method?: unknown; params?: Record<string, unknown> };
    if (method !== 'tools/call') return undefined;
    const tool = tools.list().find(({ name }) => name === params?.name);
    return tool && paramMismatch(tool, params?.arguments, headers);
  };
  return {
    async answer(request) {
      if (isLegacy(request)) return sessions.answer(request);
      const { message, signal } = request;
      const why = mismatchOf(request);
      if (why !== undefined)
        return refusalResponse({ status: 400, code: headerMismatch, message: why }, requestIdOf(message));
      if (listensUndeclared(message))
        return refusalResponse({ status: 400, ...undeclared().toRpc() }, requestIdOf(message));
      if (!listensToResources(message)) return current.fetch(webRequest(request), { parsedBody: message });
      const holder = {};
      const end = () => void tools.offers.follow(holder, new Set());
      signal.addEventListener('abort', end, { once: true });
      const parsedBody = await followListened(tools.offers, holder, message);
      if (signal.aborted) end();
      return current.fetch(webRequest(request), { parsedBody });
    },
    get sessionCount() {
      return sessions.size;
    },
    announceListChanged() {
      current.notify.toolsChanged();
      sessions.announceListChanged();
    },
    announceOffersChanged(changed) {
      if (changed.prompts) current.notify.promptsChanged();
      if (changed.resources) current.notify.resourcesChanged();
      sessions.announceOffersChanged(changed);
    },
    sweep: () => sessions.sweep(),
    async close() {
      stopUpdates();
      await cancelCalls(running);
      await current.close();
      await sessions.close();
    },
  };
}

/** Decides by the SDK's own rule. The SDK also refuses requests that fit no revision. */
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

/** Makes a web `Request`, which the SDK requires, without the body: the body is passed separately, already parsed. */
function webRequest({ method, headers, signal }: FaceRequest): Request {
  return new Request('http://localhost/mcp', { method, headers, signal });
}
