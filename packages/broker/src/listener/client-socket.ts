import type { Duplex } from 'node:stream';
import { closeCodeOf, type ErrorCode, encodeFrame, errorCodes, type WelcomeFrame } from '@signalbox/protocol';
import type { RawData, WebSocket } from 'ws';
import { auditEvent } from '../audit-event.ts';
import type { Authentication } from '../auth/authentication.ts';
import { binaryMessage, Connection, type ConnectionDeps } from '../connection/connection.ts';
import { binary } from '../connection/frame-reader.ts';
import { type Admission, admit } from '../connection/handshake.ts';
import { refuseSlot } from '../connection/slots.ts';
import { auditCaller } from '../frames/caller.ts';

/** The fields of `welcome` that are the same for every connection. */
export type Greeting = Omit<WelcomeFrame, 'agent' | 'address' | 'role' | 'token' | 'limits'>;

/** The options of a {@link ClientSocket}. */
export interface ConnectionOptions {
  deps: ConnectionDeps;
  /** The socket below the WebSocket. */
  transport: Duplex;
  isOnUnixSocket: boolean;
  greeting: Greeting;
  helloTimeoutMs: number;
  authentication: Authentication;
  /** The token of the upgrade request's `Authorization` header, if it has one. */
  bearer: string | undefined;
  /** Called when its `hello` was accepted. */
  onAdmitted: () => void;
  /** Called when it is over, perhaps more than once. */
  onEnded: () => void;
}

/** The time after which a client without a slot may try again, in milliseconds. */
const placeAfterMs = 1000;

/** The number of pings in the time of one heartbeat. */
export const checksPerHeartbeat = 3;

/** The most checks in a row without a sign of life; the next one ends the connection. That takes at most two heartbeats. */
const maxSilentChecks = 2 * checksPerHeartbeat - 1;

/** One WebSocket from its opening to its end. Its first frame is `hello`; its {@link Connection} handles the following frames. */
export class ClientSocket {
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  readonly #helloTimer: NodeJS.Timeout;
  #connection: Connection | undefined;
  #silentChecks = 0;
  /** The data of the newest unanswered ping. */
  #ping: Buffer | undefined;
  /** True once its `hello` was refused. Then it is closing, and nothing more is read. */
  #isTurnedAway = false;
  /** The messages that came while its token was being checked. */
  #early: [RawData, boolean][] | undefined;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#helloTimer = setTimeout(
      () => this.#turnAway('hello_timeout', "no 'hello' came in time"),
      options.helloTimeoutMs,
    );
    socket.on('message', this.#receive);
    socket.on('ping', (data) => this.#pinged(data));
    socket.on('pong', () => {
      this.#silentChecks = 0;
    });
    socket.on('error', (error) => options.deps.log({ level: 'debug', event: 'socket_error', error }));
    socket.on('close', () => this.#ended());
  }

  /**
   * Sends a ping, or ends a connection that has given no sign of life for almost two heartbeats. Call it {@link checksPerHeartbeat}
   * times in a heartbeat.
   */
  checkLife(): void {
    const socket = this.#socket;
    if (this.#silentChecks < maxSilentChecks) {
      // Nothing is read from a connection that is held up, not even its pongs.
      if (!this.#connection?.isHeldUp) this.#silentChecks++;
      if (socket.readyState === socket.OPEN) socket.ping();
      return;
    }
    const connection = this.#connection;
    const agent = connection?.caller.sender.agent;
    this.#options.deps.log({ level: 'info', event: 'heartbeat_missed', agent });
    if (connection && !connection.isWritable) {
      connection.end('slow_consumer', 'this connection read nothing for two heartbeats');
    }
    this.terminate();
  }

  /** The id of the token that the client sent, once the token was accepted. */
  get tokenId(): string | undefined {
    return this.#connection?.caller.token.id;
  }

  /** Tells the client that the broker stops, and after how many milliseconds to connect again. */
  sayGoingAway(reconnectAfterMs: number): void {
    this.#connection?.send({ type: 'going_away', reconnect_after_ms: reconnectAfterMs });
  }

  /** Closes the WebSocket after the waiting frames. */
  close(code: number, reason: string): void {
    (this.#connection ?? this.#socket).close(code, reason);
  }

  /** Ends the connection without a closing handshake. */
  terminate(): void {
    this.#ended();
    this.#socket.terminate();
  }

  /** Answers only the newest ping of this turn of the event loop, as RFC 6455 allows: one socket can bring thousands. */
  #pinged(data: Buffer): void {
    if (this.#ping === undefined) setImmediate(() => this.#pong());
    this.#ping = data;
    this.#connection?.receivePing(data.length);
  }

  #pong(): void {
    const data = this.#ping;
    this.#ping = undefined;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.pong(data);
  }

  readonly #receive = (data: RawData, isBinary: boolean): void => {
    this.#silentChecks = 0;
    if (this.#isTurnedAway) return;
    if (this.#early) {
      this.#early.push([data, isBinary]);
      return;
    }
    const connection = this.#connection;
    if (isBinary) {
      if (connection) connection.receive(binary, (data as Buffer).length);
      else this.#turnAway('bad_hello', binaryMessage);
    } else if (connection) connection.receive(data.toString(), (data as Buffer).length);
    else this.#hello(data.toString());
  };

  #hello(message: string): void {
    const { bearer, authentication } = this.#options;
    const isOpen = (): boolean => !this.#isTurnedAway && this.#socket.readyState === this.#socket.OPEN;
    const admission = admit(message, bearer, authentication, isOpen);
    if (!(admission instanceof Promise)) {
      this.#conclude(admission);
      return;
    }
    // Bytes that come meanwhile count as those of strangers.
    const early: [RawData, boolean][] = [];
    this.#early = early;
    void admission.then((concluded) => {
      this.#early = undefined;
      if (!isOpen()) return;
      this.#conclude(concluded);
      for (const [data, isBinary] of early) this.#receive(data, isBinary);
    });
  }

  #conclude(admission: Admission): void {
    const { deps, transport, isOnUnixSocket, greeting, onAdmitted } = this.#options;
    if ('refusal' in admission) {
      const { code, message: detail, agent, field, retryAfterMs } = admission.refusal;
      deps.audit.record(auditEvent(code, { at: deps.now(), detail, ...(agent !== undefined && { agent }) }));
      this.#turnAway(code, detail, field, retryAfterMs);
      return;
    }
    const { identity, rest } = admission;
    const full = refuseSlot(identity, deps.connected, deps.limits);
    if (full !== undefined) {
      auditCaller(identity, 'too_many_connections', { detail: full }, deps);
      this.#turnAway('too_many_connections', full, undefined, placeAfterMs);
      return;
    }
    clearTimeout(this.#helloTimer);
    onAdmitted();
    const connection = new Connection({ webSocket: this.#socket, transport, isOnUnixSocket }, identity, deps);
    this.#connection = connection;
    const { sender, mintsOnly, limits } = connection.caller;
    auditCaller(identity, 'connected', { detail: 'said hello' }, deps);
    if (!mintsOnly) deps.agents.add(sender.agent);
    const { createdAt, expiresAt } = identity.token;
    const token = { created_at: createdAt, ...(expiresAt !== undefined && { expires_at: expiresAt }) };
    connection.begin({ ...greeting, ...sender, token, limits });
    if (rest.length > 0) connection.receive(rest, rest.length);
  }

  #turnAway(code: ErrorCode, message: string, field?: string, retryAfterMs?: number): void {
    const { retryable } = errorCodes[code];
    this.#options.deps.metrics.refused(code);
    this.#socket.send(
      encodeFrame({ type: 'error', code, message, field, retryable, retry_after_ms: retryAfterMs }),
    );
    this.#socket.close(closeCodeOf(code) ?? 1011, code);
    this.#isTurnedAway = true;
    clearTimeout(this.#helloTimer);
  }

  #ended(): void {
    clearTimeout(this.#helloTimer);
    this.#connection?.dispose();
    this.#options.onEnded();
  }
}
