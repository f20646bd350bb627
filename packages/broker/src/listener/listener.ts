import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import {
  type AddressInfo,
  createServer as createNetServer,
  type ListenOptions,
  type Server as NetServer,
} from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { frameCosts, subprotocol } from '@signalbox/protocol';
import { Slices } from '@signalbox/serving';
import { bearerOf, refusal as refuseRequest, type StatusRequests, send } from '@signalbox/serving/monitoring';
import { TlsFront, type TlsPair } from '@signalbox/serving/tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { auditEvent } from '../audit-event.ts';
import { Authentication } from '../auth/authentication.ts';
import type { IdentityProvider } from '../auth/identity-provider.ts';
import type { ConnectionDeps } from '../connection/connection.ts';
import type { BrokerHealth } from '../health/broker-health.ts';
import { WebhookRequests } from '../webhooks/webhook-requests.ts';
import { hookPath } from '../webhooks/webhooks.ts';
import { ClientSocket, checksPerHeartbeat, type Greeting } from './client-socket.ts';
import { DescriptorWatch } from './descriptor-watch.ts';
import { FrequentEvent } from './frequent-event.ts';
import type { HttpPages } from './http-pages.ts';
import { statusRequests } from './http-requests.ts';
import { UnauthenticatedConnections } from './unauthenticated-connections.ts';
import { refuseForeign, refuseOrigin, refuseUpgrade, type UpgradeRefusal } from './upgrade-check.ts';

/** An import statement would load every export of `node:http`, and some of them load all of `fetch`. */
const { createServer } = process.getBuiltinModule('node:http');

/** The options of a {@link Listener}. */
export interface ListenerOptions {
  host: string;
  port: number;
  /** The certificate and the key for connections to host and port. */
  tls?: TlsPair;
  /** Web pages that may connect, and the hosts under which a proxy reaches a broker on loopback. */
  trustedOrigins: readonly string[];
  heartbeatMs: number;
  helloTimeoutMs: number;
  identityProvider?: IdentityProvider;
  /** True if anybody who reaches the listener may see the metrics. */
  opensMetrics: boolean;
  health: BrokerHealth;
  greeting: Greeting;
  deps: ConnectionDeps;
}

/** The time after which connections that don't answer the closing handshake are terminated, in milliseconds. */
const closeTimeoutMs = 500;

/** The most connections that may wait to be accepted. A Unix socket refuses more at once; the system may allow fewer. */
const backlog = 4096;

/** The time between two checks of the free descriptors, with a report of closed connections, in milliseconds. */
const watchMs = 1000;

/** Accepts WebSocket connections, sends them heartbeats, and closes them when the broker stops. It also answers HTTP requests. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #servers: NetServer[] = [];
  #front: TlsFront | undefined;
  #tls: TlsPair | undefined;
  readonly #webSockets: WebSocketServer;
  readonly #connections = new Set<ClientSocket>();
  readonly #unauthenticated: UnauthenticatedConnections;
  /** The slices that all strangers share, so that many new connections do not slow down the others. */
  readonly #strangers = new Slices();
  readonly #evicted: FrequentEvent;
  readonly #descriptors: DescriptorWatch;
  readonly #authentication: Authentication;
  readonly #requests: StatusRequests;
  readonly #hooks: WebhookRequests;
  /** Accepts the connections of this process. It listens nowhere. */
  readonly #inProcess: Server;
  #pages: HttpPages | undefined;
  #port = 0;
  #heartbeats: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #serversClosed: Promise<unknown> | undefined;

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
    this.#authentication = new Authentication(
      { ...options.deps, strangers: this.#strangers },
      options.identityProvider,
    );
    this.#tls = options.tls;
    this.#requests = statusRequests({
      ...options,
      authentication: this.#authentication,
      strangers: () => this.#unauthenticated.size,
      tls: () => this.#tls,
    });
    this.#hooks = new WebhookRequests(options.deps, this.#strangers);
    this.#inProcess = this.#createServer();
    this.#webSockets = new WebSocketServer({
      noServer: true,
      maxPayload: message.frameBytes,
      perMessageDeflate: false,
      clientTracking: false,
      autoPong: false,
      handleProtocols: () => subprotocol,
    });
  }

  /** Listens on `host` and `port`. Rejects with the error of the socket, such as `EADDRINUSE`. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    const { host, port, tls } = options;
    const server = await listener.#listen({ host, port }, tls);
    // The port is stored, because a server that is closing has no address, although upgrades still arrive.
    listener.#port = (server.address() as AddressInfo).port;
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

  /** Encrypts new connections with another certificate and key from now on. Throws if they can't be used. */
  setTls(pair: TlsPair): void {
    this.#front?.setPair(pair);
    this.#tls = pair;
  }

  /** Checks tokens with another identity provider from now on. Clients with tokens of the previous one connect again. */
  setIdentityProvider(provider: IdentityProvider | undefined): void {
    this.#authentication.setProvider(provider);
    const { tokens } = this.#options.deps;
    for (const connection of this.#connections) {
      const { tokenId } = connection;
      if (tokenId === undefined || tokens.get(tokenId)) continue;
      connection.sayGoingAway(0);
      connection.close(1001, 'going_away');
    }
  }

  /** Closes every connection, so that the clients of several brokers continue at another one. Other clients may come back at once. */
  letGo(): void {
    for (const connection of this.#connections) {
      connection.sayGoingAway(0);
      connection.close(1001, 'going_away');
    }
  }

  /** Lets pages answer the requests that they cover. */
  setPages(pages: HttpPages): void {
    this.#pages = pages;
  }

  /** Opens a connection of this process: a stream for a WebSocket. */
  openConnection(): Duplex {
    const [near, far] = duplexPair();
    this.#inProcess.emit('connection', far);
    return near;
  }

  /** Also listens on a Unix socket. Rejects with the error of the socket. Its file is removed when the listener stops. */
  async listenOnSocket(path: string): Promise<void> {
    await this.#listen({ path });
  }

  async #listen(place: ListenOptions, tls?: TlsPair): Promise<NetServer> {
    const server = tls ? this.#createTlsServer(tls) : this.#createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ ...place, backlog }, () => resolve());
    });
    server.on('error', (error) => this.#descriptors.refused(error));
    this.#servers.push(server);
    return server;
  }

  /** Makes a server whose connections are decrypted before HTTP gets them. */
  #createTlsServer(pair: TlsPair): NetServer {
    const { deps, helloTimeoutMs } = this.#options;
    const http = this.#createServer();
    const front = new TlsFront({
      pair,
      handshakeTimeoutMs: helloTimeoutMs,
      handshakesPerSecond: deps.limits.forAll.connections.handshakes,
      monotonic: deps.monotonic,
      onSecure: (socket, raw) => {
        this.#unauthenticated.remove(raw);
        http.emit('connection', socket);
      },
    });
    this.#front = front;
    return createNetServer({ noDelay: true }, (raw) => {
      this.#unauthenticated.add(raw);
      front.accept(raw);
    });
  }

  #createServer(): Server {
    const { helloTimeoutMs } = this.#options;
    const timeouts = {
      headersTimeout: helloTimeoutMs,
      requestTimeout: helloTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, helloTimeoutMs),
      keepAliveTimeout: 1,
      // A client that offers another protocol, such as h2c, is answered in HTTP/1.1.
      shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket',
    };
    const server = createServer(timeouts, (request, response) => {
      this.#strangers.take(() => this.#answer(request, response));
    });
    // A connection serves one request. Node.js answers further requests on it with 503.
    server.maxRequestsPerSocket = 1;
    server.on('connection', (socket) => this.#unauthenticated.add(socket));
    server.on('upgrade', (request, socket, head) => {
      // Until its turn nothing else handles an error of the socket.
      const ignore = (): void => {};
      socket.on('error', ignore);
      this.#strangers.take(() => {
        socket.off('error', ignore);
        const isOnUnixSocket = typeof server.address() === 'string';
        if (!socket.destroyed) this.#upgrade(request, socket, head, isOnUnixSocket);
      });
    });
    return server;
  }

  /** Accepts no more connections, and tells the open ones that the broker stops. */
  sayGoingAway(reconnectAfterMs: number): void {
    clearInterval(this.#heartbeats);
    clearInterval(this.#watch);
    this.#hooks.stop();
    this.#evicted.report();
    this.#serversClosed = Promise.all(
      this.#servers.map((server) => new Promise((resolve) => server.close(resolve))),
    );
    for (const connection of this.#connections) connection.sayGoingAway(reconnectAfterMs);
  }

  /** Closes every connection after {@link sayGoingAway}. Resolves when all are closed. */
  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close(1001, 'going_away');
    this.#pages?.stop();
    this.#unauthenticated.endPlain();
    const timeout = setTimeout(() => {
      for (const connection of this.#connections) connection.terminate();
    }, closeTimeoutMs);
    await this.#serversClosed;
    clearTimeout(timeout);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.socket.destroyed) return;
    this.#strangers.spend(frameCosts.hello);
    const { host, trustedOrigins } = this.#options;
    const isForHook = request.url?.startsWith(hookPath) === true;
    const pages = this.#pages?.covers(request.url?.split('?', 1)[0] ?? '') ? this.#pages : undefined;
    const { origins } = this.#options.deps.reachedAt;
    const own = { host, port: this.port, trustedOrigins: pages ? origins : trustedOrigins };
    // A webhook's sender uses any host that its operator gave it, and proves its identity. Pages of other sites name their origin.
    const refusal = isForHook ? refuseOrigin(request.headers, own) : refuseForeign(request.headers, own);
    if (refusal) {
      this.#noteRefusal(refusal);
      const { code, message } = refusal;
      send(response, refuseRequest(request, 403, { code, message }));
    } else if (pages) {
      const { socket } = request;
      void pages.handle(request, response, () => this.#unauthenticated.remove(socket));
    } else void (isForHook ? this.#hooks : this.#requests).handle(request, response);
  }

  #noteRefusal({ code, message }: UpgradeRefusal): void {
    const { audit, metrics, now } = this.#options.deps;
    metrics.refused(code);
    audit.record(auditEvent(code, { at: now(), detail: message }));
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, isOnUnixSocket: boolean): void {
    const { host, trustedOrigins } = this.#options;
    this.#strangers.spend(frameCosts.hello);
    const refusal = refuseUpgrade(request, { host, port: this.port, trustedOrigins });
    if (refusal) {
      this.#noteRefusal(refusal);
      socket.on('error', () => socket.destroy());
      socket.end(
        `HTTP/1.1 ${refusal.status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${refusal.message}\n`,
      );
      return;
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      this.#open(webSocket, { socket, isOnUnixSocket }, bearerOf(request)),
    );
  }

  #open(
    webSocket: WebSocket,
    { socket, isOnUnixSocket }: { socket: Duplex; isOnUnixSocket: boolean },
    bearer: string | undefined,
  ): void {
    const { deps, greeting, helloTimeoutMs } = this.#options;
    const connection = new ClientSocket(webSocket, {
      deps,
      transport: socket,
      isOnUnixSocket,
      greeting,
      helloTimeoutMs,
      authentication: this.#authentication,
      bearer,
      onAdmitted: () => this.#unauthenticated.remove(socket),
      onEnded: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    this.#unauthenticated.upgraded(socket, () => connection.terminate());
  }
}
