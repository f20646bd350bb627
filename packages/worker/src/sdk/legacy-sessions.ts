import {
  isInitializeRequest,
  type JSONRPCMessage,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import type { OfferedKinds } from '@signalbox/protocol';
import type { DirectCalls } from './direct-calls.ts';
import { type HttpRefusal, refusalResponse } from './http-refusal.ts';
import { type FaceRequest, requestIdOf } from './http-request.ts';
import { sendOffersChanged } from './offer-requests.ts';
import { SessionTransport } from './session-transport.ts';

interface Session {
  readonly server: Server;
  readonly transport: SessionTransport;
  lastUsedAt: number;
}

export interface LegacySessionsOptions {
  /** Makes the server of the session with this id, and what answers its calls. */
  createServer: (session: string) => { server: Server; directCalls: DirectCalls };
  /** Called when a session has ended. Must not reject. */
  onEnded: (session: string) => Promise<void>;
  newSessionId: () => string;
  /** One more session ends the one that was idle longest. */
  maxSessions: number;
  /** A session without requests and without a listening client ends after this time. */
  idleMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** The sessions of one agent, for clients of the revisions up to 2025-11-25. */
export class LegacySessions {
  readonly #options: LegacySessionsOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
  }

  /** The number of sessions. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Answers a request: it begins a session, belongs to one, or is refused. */
  async answer(request: FaceRequest): Promise<Response> {
    const { message, headers } = request;
    if (isInitializeRequest(message)) return this.#open(request);
    const named = this.#named(headers['mcp-session-id'], headers['mcp-protocol-version']);
    if ('status' in named) return refusalResponse(named, requestIdOf(message));
    named.lastUsedAt = this.#options.now();
    return this.#answerWithin(named, request).finally(() => {
      named.lastUsedAt = this.#options.now();
    });
  }

  /** Tells every client that the list of tools has changed. */
  announceListChanged(): void {
    for (const { server } of this.#sessions.values()) server.sendToolListChanged().catch(() => {});
  }

  /** Tells every client which other lists have changed. */
  announceOffersChanged(changed: OfferedKinds): void {
    for (const { server } of this.#sessions.values()) sendOffersChanged(server, changed).catch(() => {});
  }

  /** Ends the sessions that nobody uses any more. */
  async sweep(): Promise<void> {
    for (const session of this.#sessions.values()) {
      if (this.#isOver(session)) await this.#end(session);
    }
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await this.#end(session);
  }

  async #open(request: FaceRequest): Promise<Response> {
    const { createServer, newSessionId, maxSessions, now } = this.#options;
    const transport = new SessionTransport(newSessionId());
    const { server, directCalls } = createServer(transport.sessionId);
    await server.connect(transport);
    directCalls.attach(transport);
    const response = await transport.post(request.message as JSONRPCMessage, request);
    if (server.getClientVersion() === undefined) {
      await server.close();
      return response;
    }
    directCalls.open(server);
    if (this.#sessions.size >= maxSessions) await this.#end(this.#longestIdle());
    this.#sessions.set(transport.sessionId, { server, transport, lastUsedAt: now() });
    response.headers.set('mcp-session-id', transport.sessionId);
    return response;
  }

  async #answerWithin(
    session: Session,
    { method, message, headers, ...caller }: FaceRequest,
  ): Promise<Response> {
    if (method === 'DELETE') {
      await this.#end(session);
      return new Response(null, { status: 204 });
    }
    if (message !== undefined) return session.transport.post(message as JSONRPCMessage, caller);
    if (caller.streams) return session.transport.listen(caller.signal);
    return refusalResponse({ status: 406, message: 'GET needs the header Accept: text/event-stream' });
  }

  #named(sessionId: string | undefined, version: string | undefined): Session | HttpRefusal {
    if (sessionId === undefined) {
      const message = 'the Mcp-Session-Id header is missing: begin a session with initialize';
      return { status: 400, message };
    }
    const session = this.#sessions.get(sessionId);
    if (!session || this.#isOver(session)) {
      const message = 'there is no such session for this token (any more): begin one with initialize';
      return { status: 404, code: -32001, message };
    }
    if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
      return { status: 400, message: `MCP-Protocol-Version must be one of ${known} within a session` };
    }
    return session;
  }

  #isOver({ transport, lastUsedAt }: Session): boolean {
    return !transport.isBusy && lastUsedAt <= this.#options.now() - this.#options.idleMs;
  }

  /** Returns the session that was idle longest, or one that is busy if none is idle. */
  #longestIdle(): Session {
    const rank = ({ transport, lastUsedAt }: Session) =>
      (transport.isBusy ? Number.MAX_VALUE : 0) + lastUsedAt;
    return [...this.#sessions.values()].reduce((a, b) => (rank(b) < rank(a) ? b : a));
  }

  async #end({ server, transport }: Session): Promise<void> {
    this.#sessions.delete(transport.sessionId);
    await server.close();
    await this.#options.onEnded(transport.sessionId);
  }
}
