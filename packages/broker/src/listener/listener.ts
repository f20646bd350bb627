import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { closeCodeOf, type ErrorCode, encodeFrame, errorCodes, subprotocol } from '@signalbox/protocol';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { SessionContext } from '../frames/context.ts';
import { admit } from '../session/handshake.ts';
import { Session } from '../session/session.ts';
import { UnauthenticatedConnections } from './unauthenticated-connections.ts';
import { refuseUpgrade } from './upgrade-check.ts';

/** An import statement reads all that `node:http` exports, and some of it loads the whole of `fetch`. */
const { createServer } = process.getBuiltinModule('node:http');

export interface ListenerOptions {
  context: SessionContext;
  host: string;
  port: number;
  helloTimeoutMs: number;
  newSerial: () => string;
}

/** One socket, before and after its hello. */
interface Socket {
  socket: WebSocket;
  session?: Session;
  helloTimer?: NodeJS.Timeout | undefined;
  /** Heartbeats in a row without a sign of life. */
  missed: number;
  /** Answered with an error and closing: nothing more is read. */
  turnedAway?: boolean;
}

/** The WebSocket side of the broker: sockets in, sessions out. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #context: SessionContext;
  readonly #http: Server;
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<Socket>();
  readonly #strangers: UnauthenticatedConnections<Socket>;
  #port = 0;
  #heartbeat: NodeJS.Timeout | undefined;

  private constructor(options: ListenerOptions) {
    this.#options = options;
    this.#context = options.context;
    this.#strangers = new UnauthenticatedConnections(options.context.limits.maxUnauthenticated, (entry) => {
      this.#forget(entry);
      entry.socket.terminate();
    });
    this.#http = createServer((_request, response) => {
      response.writeHead(426, { 'content-type': 'text/plain', connection: 'close' });
      response.end(`This is a Signalbox broker: connect by WebSocket with the subprotocol ${subprotocol}.\n`);
    });
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: options.context.limits.maxFrameBytes,
      perMessageDeflate: false,
      clientTracking: false,
      handleProtocols: () => subprotocol,
    });
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  static async open(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    await new Promise<void>((resolve, reject) => {
      listener.#http.once('error', reject);
      listener.#http.listen(options.port, options.host, () => resolve());
    });
    // A server that is closing has no address any more, and connections still come in.
    listener.#port = (listener.#http.address() as AddressInfo).port;
    const { heartbeatMs } = options.context;
    listener.#heartbeat = setInterval(() => listener.#beat(), heartbeatMs);
    return listener;
  }

  get port(): number {
    return this.#port;
  }

  /** Says goodbye to everybody and refuses new connections; resolves when every socket is closed. */
  async close(reconnectAfterMs: number): Promise<void> {
    clearInterval(this.#heartbeat);
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    for (const { session } of this.#sockets) {
      session?.send({ type: 'going_away', reconnect_after_ms: reconnectAfterMs });
    }
    this.#context.flusher.flush();
    await this.#context.delivery.close();
    this.#context.flusher.flush();
    for (const entry of this.#sockets) {
      if (entry.session) entry.session.close(1001, 'going_away');
      else entry.socket.close(1001, 'going_away');
    }
    const impatience = setTimeout(() => {
      for (const { socket } of this.#sockets) socket.terminate();
    }, 500);
    await closed;
    clearTimeout(impatience);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const full = this.#sockets.size >= this.#context.limits.maxConnections;
    const refusal = refuseUpgrade(request.headers, { host: this.#options.host, port: this.port, full });
    if (refusal) {
      this.#context.audit.record({ at: this.#context.now(), code: refusal.code, detail: refusal.message });
      socket.on('error', () => socket.destroy());
      socket.end(
        `HTTP/1.1 ${refusal.status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${refusal.message}\n`,
      );
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (ws) => this.#open(ws, socket, bearerOf(request)));
  }

  #open(socket: WebSocket, source: Duplex, bearer: string | undefined): void {
    const entry: Socket = { socket, missed: 0 };
    this.#sockets.add(entry);
    entry.helloTimer = setTimeout(
      () => this.#turnAway(entry, 'hello_timeout', "no 'hello' came in time"),
      this.#options.helloTimeoutMs,
    );
    socket.on('message', (data, isBinary) => this.#message(entry, data, isBinary, bearer));
    socket.on('pong', () => {
      entry.missed = 0;
    });
    socket.on('error', (error) => this.#context.log({ level: 'debug', event: 'socket_error', error }));
    socket.on('close', () => this.#forget(entry));
    this.#strangers.add(entry, source);
  }

  #message(entry: Socket, data: RawData, isBinary: boolean, bearer: string | undefined): void {
    entry.missed = 0;
    if (entry.turnedAway) return;
    if (isBinary) {
      const message = 'frames are text; this WebSocket message was binary';
      if (entry.session) entry.session.refuse({ code: 'bad_frame', message });
      else this.#turnAway(entry, 'bad_hello', message);
      return;
    }
    const text = data.toString();
    if (entry.session) entry.session.receive(text);
    else this.#hello(entry, text, bearer);
  }

  #hello(entry: Socket, text: string, bearer: string | undefined): void {
    const context = this.#context;
    const admission = admit(text, bearer, context.tokens);
    if ('refusal' in admission) {
      const { code, message, agent } = admission.refusal;
      context.audit.record({
        at: context.now(),
        code,
        detail: message,
        ...(agent !== undefined && { agent }),
      });
      this.#turnAway(entry, code, message, admission.refusal.field);
      return;
    }
    clearTimeout(entry.helloTimer);
    entry.helloTimer = undefined;
    this.#strangers.remove(entry);
    const session = new Session(entry.socket, admission.identity, context, this.#options.newSerial());
    entry.session = session;
    context.sessions.add(session);
    if (!session.mintsOnly) context.agents.add(session.sender.agent);
    session.send({
      type: 'welcome',
      broker_id: context.brokerId,
      ...admission.identity.sender,
      limits: { ...context.limits },
      heartbeat_ms: context.heartbeatMs,
      receipt_means: context.receiptMeans,
      dedupe_window_ms: context.dedupeWindowMs,
    });
    if (admission.rest.length > 0) session.receive(admission.rest);
    context.flusher.flush();
  }

  #turnAway(entry: Socket, code: ErrorCode, message: string, field?: string): void {
    const { retryable } = errorCodes[code];
    entry.socket.send(
      encodeFrame({ type: 'error', code, message, ...(field !== undefined && { field }), retryable }),
    );
    entry.socket.close(closeCodeOf(code) ?? 1011, code);
    entry.turnedAway = true;
    clearTimeout(entry.helloTimer);
  }

  #forget(entry: Socket): void {
    clearTimeout(entry.helloTimer);
    this.#sockets.delete(entry);
    this.#strangers.remove(entry);
    entry.session?.gone();
  }

  #beat(): void {
    for (const entry of this.#sockets) {
      if (entry.missed >= 2) this.#cutOff(entry);
      else {
        entry.missed++;
        if (entry.socket.readyState === entry.socket.OPEN) entry.socket.ping();
      }
    }
  }

  #cutOff(entry: Socket): void {
    const { session, socket } = entry;
    this.#context.log({ level: 'info', event: 'heartbeat_missed', agent: session?.sender.agent });
    if (session && !session.writable)
      session.end('slow_consumer', 'this connection read nothing for two heartbeats');
    this.#forget(entry);
    socket.terminate();
  }
}

function bearerOf(request: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}
