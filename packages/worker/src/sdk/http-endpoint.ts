import {
  classifyInboundRequest,
  createMcpHandler,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { isJsonObject, type McpContentKinds } from '@signalbox/protocol';
import { dropAbsent } from './absent-values.ts';
import { type AgentFaceTools, type AnswerDeps, cancelCalls, type WantedLogs } from './answer-call.ts';
import { DirectCalls, isPlainCall } from './direct-calls.ts';
import { createFaceServer, type FaceServerOptions, serverInfoOf } from './face-server.ts';
import type { HttpReply } from './http-reply.ts';
import { type FaceRequest, headerOf, mcpHeaders, requestIdOf } from './http-request.ts';
import { LegacySessions } from './legacy-sessions.ts';
import { followListened, listensToResources } from './listened-resources.ts';
import { ModernCalls } from './modern-calls.ts';
import { HeaderChecks } from './param-headers.ts';
import type { PastAnswers } from './past-answers.ts';
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
  /** Keeps the answers of the streams of sessions for a time. */
  past: PastAnswers;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Called when a session has ended or sleeps, to give back everything that is held for `FaceCall.session`. Must not reject. */
  onSessionEnded: (session: string) => Promise<void>;
  onError: (error: Error) => void;
}

/** All HTTP clients of one agent's tools, of every revision of MCP. */
export interface HttpEndpoint {
  /** Answers a request, also after it has returned. */
  answer(request: FaceRequest, reply: HttpReply): void | Promise<void>;
  /** The number of sessions of clients of the revisions up to 2025-11-25 that are awake. */
  readonly sessionCount: number;
  /** Tells every client that listens that the list of tools has changed. */
  announceListChanged(): void;
  /** Tells every client that listens which other lists have changed. */
  announceMcpContentChanged(changed: McpContentKinds): void;
  /** Puts unused sessions to sleep. */
  sweep(): Promise<void>;
  /** Cancels the running calls, lets their answers reach the clients, and ends all sessions and streams. */
  close(): Promise<void>;
}

/** Serves an agent's tools over HTTP: requests of the current revision one by one, those of earlier revisions in sessions. */
export function openHttpEndpoint(tools: AgentFaceTools, options: HttpEndpointOptions): HttpEndpoint {
  const { version, heartbeatMs, trace, sessionIds, maxSessions, sessionIdleMs, past, now } = options;
  const { onSessionEnded, onError } = options;
  const running = new RunningCalls();
  const createServer = (own: Pick<FaceServerOptions, 'isModern' | 'onlyMethod' | 'session' | 'logs'>) =>
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
    createServer: (session) => {
      const logs: WantedLogs = { level: undefined };
      return {
        server: createServer({ isModern: false, session, logs }),
        directCalls: new DirectCalls({ tools, running, heartbeatMs, trace, session, logs }),
      };
    },
    onEnded: onSessionEnded,
    ids: sessionIds,
    maxSessions,
    idleMs: sessionIdleMs,
    past,
    now,
  });
  const stopUpdates = tools.mcpContent.onUpdated((uri) => current.notify.resourceUpdated(uri));
  const modernCalls = new ModernCalls({ tools, running, heartbeatMs, trace }, serverInfoOf(version));
  const headerChecks = new HeaderChecks(tools);
  const answerBySdk = async (request: FaceRequest, reply: HttpReply): Promise<void> => {
    const { message } = request;
    const hangUp = new AbortController();
    const { signal } = hangUp;
    reply.onHangUp = () => hangUp.abort();
    if (reply.isClosed) return;
    if (!listensToResources(message))
      return reply.pass(await current.fetch(webRequest(request, signal), { parsedBody: message }));
    const holder = {};
    const end = () => void tools.mcpContent.follow(holder, new Set());
    signal.addEventListener('abort', end, { once: true });
    const parsedBody = await followListened(tools.mcpContent, holder, message);
    if (signal.aborted) end();
    return reply.pass(await current.fetch(webRequest(request, signal), { parsedBody }));
  };
  return {
    answer(request, reply) {
      dropAbsent(request.message);
      const route = routeOf(request);
      if (route === 'legacy') return sessions.answer(request, reply);
      const { message } = request;
      const why = headerChecks.mismatchOf(request);
      if (why !== undefined)
        return reply.refuse({ status: 400, code: headerMismatch, message: why }, requestIdOf(message));
      if (listensUndeclared(message))
        return reply.refuse({ status: 400, ...undeclared().toRpc() }, requestIdOf(message));
      if (route === 'modern' && modernCalls.take(request, reply)) return;
      return answerBySdk(request, reply);
    },
    get sessionCount() {
      return sessions.size;
    },
    announceListChanged() {
      current.notify.toolsChanged();
      sessions.announceListChanged();
    },
    announceMcpContentChanged(changed) {
      if (changed.prompts) current.notify.promptsChanged();
      if (changed.resources) current.notify.resourcesChanged();
      sessions.announceMcpContentChanged(changed);
    },
    sweep: () => sessions.sweep(),
    async close() {
      stopUpdates();
      headerChecks.close();
      await cancelCalls(running);
      await current.close();
      await sessions.close();
    },
  };
}

const messageFields = new Set(['jsonrpc', 'id', 'method', 'params']);

/**
 * Returns true for most calls of the revisions up to 2025-11-25. The SDK's rule says the same of them, by a check against several schemas
 * that takes more processor time than the rest of the way to the call.
 */
function isLegacyCall(message: unknown, version: string | undefined): boolean {
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return false;
  if (!isJsonObject(message) || !isPlainCall(message)) return false;
  for (const field in message) if (!messageFields.has(field)) return false;
  const token = message.params._meta?.progressToken;
  return token === undefined || typeof token === 'string' || Number.isSafeInteger(token);
}

/** Decides by the SDK's own rule who answers a request. The SDK also refuses requests that fit no revision. */
function routeOf({ method, headers, message }: FaceRequest): 'legacy' | 'modern' | 'reject' {
  const version = headerOf(headers, 'mcp-protocol-version');
  if (method === 'POST' && isLegacyCall(message, version)) return 'legacy';
  const named = headerOf(headers, 'mcp-method');
  const tool = headerOf(headers, 'mcp-name');
  return classifyInboundRequest({
    httpMethod: method,
    body: message,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(named !== undefined && { mcpMethodHeader: named }),
    ...(tool !== undefined && { mcpNameHeader: tool }),
  }).kind;
}

/** Makes a web `Request`, which the SDK requires, without the body: the body is passed separately, already parsed. */
function webRequest({ method, headers }: FaceRequest, signal: AbortSignal): Request {
  return new Request('http://localhost/mcp', { method, headers: mcpHeaders(headers), signal });
}
