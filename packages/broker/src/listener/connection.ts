import { closeCodeOf, type ErrorCode, encodeFrame, errorCodes, type WelcomeFrame } from '@signalbox/protocol';
import type { RawData, WebSocket } from 'ws';
import { admit } from '../session/handshake.ts';
import { Session, type SessionDeps } from '../session/session.ts';

/** The fields of `welcome` that are the same for every connection. */
export type Greeting = Omit<WelcomeFrame, 'agent' | 'address' | 'role'>;

export interface ConnectionOptions {
  deps: SessionDeps;
  greeting: Greeting;
  helloTimeoutMs: number;
  /** The token of the upgrade's Authorization header, if any. */
  bearer: string | undefined;
  /** Called when it said hello and was let in. */
  onAdmitted: () => void;
  /** Called once when it is over. */
  onEnded: () => void;
}

/** A connection is dead after so many heartbeats without a sign of life. */
const maxMissedHeartbeats = 2;

/** One WebSocket from its opening to its end. Its first message is its hello; after that its session takes over. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  readonly #helloTimer: NodeJS.Timeout;
  #session: Session | undefined;
  #missedHeartbeats = 0;
  /** It was answered with an error and is closing: nothing more is read. */
  #isTurnedAway = false;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#helloTimer = setTimeout(
      () => this.#turnAway('hello_timeout', "no 'hello' came in time"),
      options.helloTimeoutMs,
    );
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => {
      this.#missedHeartbeats = 0;
    });
    socket.on('error', (error) => options.deps.log({ level: 'debug', event: 'socket_error', error }));
    socket.on('close', () => this.#ended());
  }

  /** Asks for a sign of life, or ends a connection that gave none. */
  heartbeat(): void {
    const socket = this.#socket;
    if (this.#missedHeartbeats < maxMissedHeartbeats) {
      this.#missedHeartbeats++;
      if (socket.readyState === socket.OPEN) socket.ping();
      return;
    }
    const session = this.#session;
    const agent = session?.caller.sender.agent;
    this.#options.deps.log({ level: 'info', event: 'heartbeat_missed', agent });
    if (session && !session.isWritable) {
      session.end('slow_consumer', 'this connection read nothing for two heartbeats');
    }
    this.terminate();
  }

  /** Tells that the broker stops, and when to come again. */
  sayGoingAway(reconnectAfterMs: number): void {
    this.#session?.send({ type: 'going_away', reconnect_after_ms: reconnectAfterMs });
  }

  close(code: number, reason: string): void {
    (this.#session ?? this.#socket).close(code, reason);
  }

  /** Ends the connection without a goodbye. */
  terminate(): void {
    this.#ended();
    this.#socket.terminate();
  }

  #receive(data: RawData, isBinary: boolean): void {
    this.#missedHeartbeats = 0;
    if (this.#isTurnedAway) return;
    const session = this.#session;
    if (isBinary) {
      const message = 'frames are text; this WebSocket message was binary';
      if (session) session.refuse({ code: 'bad_frame', message });
      else this.#turnAway('bad_hello', message);
    } else if (session) session.receive(data.toString());
    else this.#hello(data.toString());
  }

  #hello(message: string): void {
    const { deps, greeting, bearer, onAdmitted } = this.#options;
    const admission = admit(message, bearer, deps.tokens);
    if ('refusal' in admission) {
      const { code, message: detail, agent, field } = admission.refusal;
      deps.audit.record({ at: deps.now(), code, detail, ...(agent !== undefined && { agent }) });
      this.#turnAway(code, detail, field);
      return;
    }
    clearTimeout(this.#helloTimer);
    onAdmitted();
    const session = new Session(this.#socket, admission.identity, deps);
    this.#session = session;
    const { sender, mintsOnly } = session.caller;
    if (!mintsOnly) deps.agents.add(sender.agent);
    session.send({ ...greeting, ...sender });
    if (admission.rest.length > 0) session.receive(admission.rest);
  }

  #turnAway(code: ErrorCode, message: string, field?: string): void {
    const { retryable } = errorCodes[code];
    this.#socket.send(
      encodeFrame({ type: 'error', code, message, ...(field !== undefined && { field }), retryable }),
    );
    this.#socket.close(closeCodeOf(code) ?? 1011, code);
    this.#isTurnedAway = true;
    clearTimeout(this.#helloTimer);
  }

  #ended(): void {
    clearTimeout(this.#helloTimer);
    this.#session?.gone();
    this.#options.onEnded();
  }
}
