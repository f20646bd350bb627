import {
  isInitializeRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { isJsonObject, type McpContentKinds } from '@signalbox/protocol';
import type { DirectCalls } from './direct-calls.ts';
import type { HttpRefusal } from './http-refusal.ts';
import type { HttpReply } from './http-reply.ts';
import { type FaceRequest, headerOf, requestIdOf } from './http-request.ts';
import { keepCodes } from './kept-codes.ts';
import { sendMcpContentChanged } from './mcp-content-requests.ts';
import { type PastAnswers, resumableMs } from './past-answers.ts';
import type { SessionIds, SessionState } from './session-id.ts';
import { SessionTransport } from './session-transport.ts';

interface Session {
  readonly server: Server;
  readonly transport: SessionTransport;
  lastUsedAt: number;
  /** True if the client has followed a resource, which its id does not hold. */
  hasFollowed: boolean;
  /** True from the moment that it is woken until the request that wakes it is passed on. */
  isWaking: boolean;
}

export interface LegacySessionsOptions {
  /** Makes the server of the session with this id, and the answers to its calls. */
  createServer: (session: string) => { server: Server; directCalls: DirectCalls };
  /** Called when a session has ended or is put to sleep. Must not reject. */
  onEnded: (session: string) => Promise<void>;
  ids: SessionIds;
  /** The most sessions that are awake. Beyond it, the one that was idle longest is put to sleep. */
  maxSessions: number;
  /** The time in milliseconds after which a session without requests and without a listening client is put to sleep. */
  idleMs: number;
  /** Keeps the answers of the agent's streams for a time. */
  past: PastAnswers;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** The most sessions that are remembered as ended. */
const maxEnded = 1_000;

/**
 * The sessions of one agent, for clients of the revisions up to 2025-11-25. Their ids hold their state. So a session that is not in memory,
 * because it sleeps or began at a face that has died, is woken by its next request.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #waking = new Map<string, Promise<Session | HttpRefusal>>();
  /** The newest sessions that are not woken again. */
  readonly #ended = new Set<string>();

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
  }

  /** The number of sessions that are awake. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Answers a request, also after it has returned: it begins a session, belongs to one, or is refused. */
  answer(request: FaceRequest, reply: HttpReply): void | Promise<void> {
    const { message, headers } = request;
    const id = headerOf(headers, 'mcp-session-id');
    if (isInitialize(message)) return this.#open(message, reply);
    if (isJsonObject(message) && message.method === 'initialize')
      return reply.refuse(unfitInitialize, requestIdOf(message));
    const session = id === undefined ? undefined : this.#sessions.get(id);
    return session ? this.#answerWithin(session, request, reply) : this.#answerWoken(id, request, reply);
  }

  /** Tells every client that the list of tools has changed. */
  announceListChanged(): void {
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(() => {});
  }

  /** Tells every client which other lists have changed. */
  announceMcpContentChanged(changed: McpContentKinds): void {
    for (const { server } of this.#sessions.values()) sendMcpContentChanged(server, changed).catch(() => {});
  }

  /** Puts unused sessions to sleep, and cancels the requests to whose streams no client has come back. */
  async sweep(): Promise<void> {
    this.#options.past.sweep();
    for (const { transport } of this.#sessions.values())
      transport.cancelLeft(this.#options.now() - resumableMs);
    const since = this.#options.now() - this.#options.idleMs;
    for (const session of this.#sessions.values()) {
      if (isIdle(session) && session.lastUsedAt <= since) await this.#putToSleep(session);
    }
  }

  /** Closes all sessions. They continue at the next face. */
  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await this.#close(session);
    this.#options.past.clear();
  }

  async #open(initialize: Initialize, reply: HttpReply): Promise<void> {
    const id = this.#options.ids.make(initialize.params);
    const { session, answer } = await this.#begin(id, initialize);
    if (!session) return answer ? reply.json(answer) : reply.end();
    const { maxSessions } = this.#options;
    const last = this.#sessions.size >= maxSessions && (this.#longestIdle() ?? this.#longestBusy());
    this.#sessions.set(id, session);
    if (last) await this.#putToSleep(last);
    reply.json(answer, { headers: { 'mcp-session-id': id } });
  }

  /** Makes a new server answer `initialize`. There is no session if the server refuses it. */
  async #begin(
    id: string,
    initialize: JSONRPCRequest,
  ): Promise<{ answer: JSONRPCMessage | undefined; session?: Session }> {
    const { createServer, past, now } = this.#options;
    const used = { lastUsedAt: now() };
    const transport = new SessionTransport(id, {
      past,
      now,
      onAnswered: () => {
        session.lastUsedAt = now();
      },
    });
    keepCodes(transport);
    const { server, directCalls } = createServer(id);
    const session: Session = { server, transport, ...used, hasFollowed: false, isWaking: false };
    await server.connect(transport);
    directCalls.attach(transport);
    const answer = await transport.begin(initialize);
    if (server.getClientVersion() === undefined) {
      await server.close();
      return { answer };
    }
    directCalls.open(server);
    return { answer, session };
  }

  /** Answers a request of a session that is not in memory. */
  async #answerWoken(id: string | undefined, request: FaceRequest, reply: HttpReply): Promise<void> {
    const woken = id === undefined ? unnamed : await this.#wakeOnce(id);
    if ('status' in woken) return reply.refuse(woken, requestIdOf(request.message));
    // A new session may have taken its place in the meantime.
    if (this.#sessions.get(woken.transport.sessionId) !== woken)
      return reply.refuse(tooManyInUse(this.#options.maxSessions), requestIdOf(request.message));
    await this.#answerWithin(woken, request, reply);
  }

  #answerWithin(
    session: Session,
    { method, message, headers }: FaceRequest,
    reply: HttpReply,
  ): void | Promise<void> {
    session.isWaking = false;
    const version = headerOf(headers, 'mcp-protocol-version');
    if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version))
      return reply.refuse(unknownVersion, requestIdOf(message));
    session.lastUsedAt = this.#options.now();
    if (method === 'DELETE') return this.#end(session).then(() => reply.end(204));
    if (message !== undefined) {
      session.hasFollowed ||= (message as { method?: unknown }).method === 'resources/subscribe';
      return session.transport.post(message as JSONRPCMessage, reply);
    }
    if (reply.takesEvents) return session.transport.listen(reply, headerOf(headers, 'last-event-id'));
    reply.refuse({ status: 406, message: 'GET needs the header Accept: text/event-stream' });
  }

  /** Wakes a session. Simultaneous requests for the same session share one attempt. */
  #wakeOnce(id: string): Promise<Session | HttpRefusal> {
    const waking = this.#waking.get(id);
    if (waking) return waking;
    const woken = this.#wake(id).finally(() => this.#waking.delete(id));
    this.#waking.set(id, woken);
    return woken;
  }

  /**
   * Continues a session by its id alone. It may replace an idle session, but not one in use: two clients would otherwise wake their
   * sessions in turn for ever.
   */
  async #wake(id: string): Promise<Session | HttpRefusal> {
    const state = this.#ended.has(id) ? undefined : this.#options.ids.read(id);
    if (!state) return noSession;
    const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { ...state } } as const;
    const { session } = await this.#begin(id, initialize);
    if (!session) return noSession;
    const isFull = this.#sessions.size >= this.#options.maxSessions;
    const idle = isFull ? this.#longestIdle() : undefined;
    if (isFull && !idle) {
      await session.server.close();
      return tooManyInUse(this.#options.maxSessions);
    }
    // The session counts before anything is waited for: many that wake at once would otherwise all see the same free place.
    session.isWaking = true;
    this.#sessions.set(id, session);
    if (idle) await this.#putToSleep(idle);
    // The lists may have changed while nobody could tell the client.
    session.server.sendToolListChanged().catch(() => {});
    sendMcpContentChanged(session.server, { prompts: true, resources: true }).catch(() => {});
    return session;
  }

  #longestIdle(): Session | undefined {
    return longestUnused([...this.#sessions.values()].filter(isIdle));
  }

  #longestBusy(): Session | undefined {
    return longestUnused([...this.#sessions.values()]);
  }

  /** Frees the memory of a session. One whose client follows resources ends: after waking it could not know them. */
  #putToSleep(session: Session): Promise<void> {
    return session.hasFollowed ? this.#end(session) : this.#close(session);
  }

  /** Ends a session for good. */
  #end(session: Session): Promise<void> {
    const [oldest] = this.#ended;
    if (this.#ended.size >= maxEnded && oldest !== undefined) this.#ended.delete(oldest);
    this.#ended.add(session.transport.sessionId);
    return this.#close(session);
  }

  async #close({ server, transport }: Session): Promise<void> {
    this.#sessions.delete(transport.sessionId);
    await server.close();
    await this.#options.onEnded(transport.sessionId);
  }
}

type Initialize = JSONRPCRequest & { params: SessionState };

function isInitialize(message: unknown): message is Initialize {
  // The SDK's check costs much, and most messages are calls.
  return (
    (message as { method?: unknown } | undefined)?.method === 'initialize' && isInitializeRequest(message)
  );
}

const unfitInitialize: HttpRefusal = {
  status: 400,
  code: -32602,
  message: 'initialize needs protocolVersion, capabilities, and clientInfo with a name and a version',
};

const unnamed: HttpRefusal = {
  status: 400,
  message: 'the Mcp-Session-Id header is missing: begin a session with initialize',
};

const unknownVersion: HttpRefusal = {
  status: 400,
  message: `MCP-Protocol-Version must be one of ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')} within a session`,
};

const noSession: HttpRefusal = {
  status: 404,
  code: -32001,
  message: 'there is no such session for this token (any more): begin one with initialize',
};

function tooManyInUse(limit: number): HttpRefusal {
  const message = `this agent has ${limit} sessions in use here; end some, or raise worker.limits.sessionsPerAgent`;
  return { status: 429, message, headers: { 'retry-after': '1' } };
}

function isIdle({ transport, isWaking }: Session): boolean {
  return !transport.isBusy && !isWaking;
}

function longestUnused(sessions: readonly Session[]): Session | undefined {
  return sessions.toSorted((a, b) => a.lastUsedAt - b.lastUsedAt)[0];
}
