import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { subprotocol } from '@signalbox/protocol';
import { type WebSocket, WebSocketServer } from 'ws';
import type { SessionDeps } from '../session/session.ts';
import { Connection, checksPerHeartbeat, type Greeting } from './connection.ts';
import { DescriptorWatch } from './descriptor-watch.ts';
import { FrequentEvent } from './frequent-event.ts';
import { UnauthenticatedConnections } from './unauthenticated-connections.ts';
import { refuseUpgrade } from './upgrade-check.ts';

/** An import statement would read every export of `node:http`, and some of them load all of `fetch`. */
const { createServer } = process.getBuiltinModule('node:http');

/** The options of a {@link Listener}. */
export interface ListenerOptions {
  host: string;
  port: number;
  heartbeatMs: number;
  helloTimeoutMs: number;
  greeting: Greeting;
  deps: SessionDeps;
}

/** The time after which connections that don't answer the closing handshake are terminated. */
const closeTimeoutMs = 500;

/** How often the listener looks whether descriptors are left, and reports what it had to close. */
const watchMs = 1000;

/** Accepts WebSocket connections, sends them heartbeats, and closes them when the broker stops. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #http: Server;
  readonly #webSockets: WebSocketServer;
  readonly #connections = new Set<Connection>();
  readonly #unauthenticated: UnauthenticatedConnections;
  readonly #evicted: FrequentEvent;
  readonly #descriptors: DescriptorWatch;
  #port = 0;
  #heartbeats: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #httpClosed: Promise<void> | undefined;

  private constructor(options: ListenerOptions) {
    const { connections, message } = options.deps.limits.forAll;
    this.#options = options;
    this.#evicted = new FrequentEvent(
      'strangers_evicted',
      `connections that had not said hello were closed, the oldest first, to make room for newer ones: more than ${connections.unauthenticated} at a time; see broker.limits.connections.unauthenticated`,
      options.deps,
    );
    this.#unauthenticated = new UnauthenticatedConnections(connections.unauthenticated, () =>
      this.#evicted.happened(),
    );
    this.#descriptors = new DescriptorWatch(() => this.#unauthenticated.endAll(), options.deps);
    const timeouts = {
      headersTimeout: options.helloTimeoutMs,
      requestTimeout: options.helloTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, options.helloTimeoutMs),
      keepAliveTimeout: 1,
    };
    this.#http = createServer(timeouts, (_request, response) => {
      response.writeHead(426, { 'content-type': 'text/plain', connection: 'close' });
      response.end(`This is a Signalbox broker: connect by WebSocket with the subprotocol ${subprotocol}.\n`);
    });
    this.#webSockets = new WebSocketServer({
      noServer: true,
      maxPayload: message.frameBytes,
      perMessageDeflate: false,
      clientTracking: false,
      handleProtocols: () => subprotocol,
    });
    this.#http.on('connection', (socket) => this.#unauthenticated.add(socket));
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** Listens on `host` and `port`. Rejects with the error of the socket, such as `EADDRINUSE`. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    await new Promise<void>((resolve, reject) => {
      listener.#http.once('error', reject);
      listener.#http.listen(options.port, options.host, () => resolve());
    });
    listener.#http.on('error', (error) => listener.#descriptors.refused(error));
    // The port is kept, because a server that is closing has no address although upgrades still arrive.
    listener.#port = (listener.#http.address() as AddressInfo).port;
    listener.#heartbeats = setInterval(() => {
      for (const connection of listener.#connections) connection.checkLife();
    }, options.heartbeatMs / checksPerHeartbeat);
    listener.#watch = setInterval(() => {
      listener.#descriptors.check();
      listener.#evicted.report();
    }, watchMs);
    return listener;
  }

  /** The port that it listens on. */
  get port(): number {
    return this.#port;
  }

  /** Accepts no more connections, and tells the open ones that the broker stops. */
  sayGoingAway(reconnectAfterMs: number): void {
    clearInterval(this.#heartbeats);
    clearInterval(this.#watch);
    this.#evicted.report();
    this.#httpClosed = new Promise((resolve) => this.#http.close(() => resolve()));
    for (const connection of this.#connections) connection.sayGoingAway(reconnectAfterMs);
  }

  /** Closes every connection after {@link sayGoingAway}. Resolves when all are closed. */
  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close(1001, 'going_away');
    this.#unauthenticated.endPlain();
    const timeout = setTimeout(() => {
      for (const connection of this.#connections) connection.terminate();
    }, closeTimeoutMs);
    await this.#httpClosed;
    clearTimeout(timeout);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { host, deps } = this.#options;
    const refusal = refuseUpgrade(request.headers, { host, port: this.port });
    if (refusal) {
      deps.audit.record({ at: deps.now(), code: refusal.code, detail: refusal.message });
      socket.on('error', () => socket.destroy());
      socket.end(
        `HTTP/1.1 ${refusal.status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${refusal.message}\n`,
      );
      return;
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      this.#open(webSocket, socket, bearerOf(request)),
    );
  }

  #open(webSocket: WebSocket, socket: Duplex, bearer: string | undefined): void {
    const { deps, greeting, helloTimeoutMs } = this.#options;
    const connection = new Connection(webSocket, {
      deps,
      greeting,
      helloTimeoutMs,
      bearer,
      onAdmitted: () => this.#unauthenticated.remove(socket),
      onEnded: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    this.#unauthenticated.upgraded(socket, () => connection.terminate());
  }
}

function bearerOf(request: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}
