import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { within } from '@signalbox/serving';
import { TlsFront, type TlsPair } from '@signalbox/serving/tls';
import { IdleConnections } from './idle-connections.ts';

/** An import statement would load every export of `node:http`, and some of them load all of `fetch`. */
const { createServer } = process.getBuiltinModule('node:http');

const headersTimeoutMs = 10_000;
const connectionsCheckMs = 5_000;
const keepAliveTimeoutMs = 65_000;
/** The most TLS handshakes that are begun per second. Clients keep their connections, so they need few. */
const handshakesPerSecond = 100;
/** The longest time for the last answers to leave, in milliseconds. */
const lastAnswersMs = 2_000;

export interface HttpServerOptions {
  host: string;
  /** Port 0 takes any free one. */
  port: number;
  /** The longest time for a request to arrive whole, in milliseconds. */
  requestTimeoutMs: number;
  /** The most connections on which nothing is answered. */
  maxIdleConnections: number;
  /** The certificate and the key that encrypt connections. Without them, connections are not encrypted. */
  tls?: TlsPair;
  /** Returns monotonic milliseconds. */
  now: () => number;
  /** Called if a request could not be handled (its connection is then closed) or a connection could not be accepted. */
  onFailure: (thrown: unknown) => void;
}

/** A running HTTP server. */
export interface HttpServer {
  readonly port: number;
  /** Encrypts new connections with another certificate and key. Throws if they can't be used. */
  setTls(pair: TlsPair): void;
  /** Returns the number of idle connections that were closed for newer ones since the last call. */
  takeEvicted(): number;
  /** Accepts no more connections. Resolves when all of them are closed. */
  stopListening(): Promise<void>;
  /** Closes all connections when the running requests are answered, or after 2 s. */
  closeConnections(): Promise<void>;
}

/** Answers a request, also after it has resolved. It calls `onAccepted` when it knows the agent of the request. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  onAccepted: () => void,
) => Promise<void>;

/** Starts an HTTP server. Rejects with the error of Node's `listen`. */
export async function startHttpServer(
  handle: RequestHandler,
  { host, port, requestTimeoutMs, maxIdleConnections, tls, now, onFailure }: HttpServerOptions,
): Promise<HttpServer> {
  let serving = 0;
  const served = Promise.withResolvers<void>();
  let isClosing = false;
  const idle = new IdleConnections(maxIdleConnections);
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, headersTimeoutMs),
    connectionsCheckingInterval: Math.min(requestTimeoutMs, connectionsCheckMs),
    keepAliveTimeout: keepAliveTimeoutMs,
  });
  server.on('connection', (socket) => idle.opened(socket));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    serving++;
    response.on('close', () => {
      serving--;
      idle.isIdle(socket);
      if (isClosing && serving === 0) served.resolve();
    });
    handle(request, response, () => idle.isBusy(socket)).catch((thrown) => {
      onFailure(thrown);
      response.destroy();
    });
  });
  const raws = new Set<Socket>();
  const front =
    tls &&
    new TlsFront({
      pair: tls,
      handshakeTimeoutMs: Math.min(requestTimeoutMs, headersTimeoutMs),
      handshakesPerSecond,
      monotonic: now,
      onSecure: (socket, raw) => {
        idle.replaced(raw);
        server.emit('connection', socket);
      },
    });
  const listening = front
    ? createNetServer({ noDelay: true }, (raw) => {
        raws.add(raw);
        raw.once('close', () => raws.delete(raw));
        idle.opened(raw);
        front.accept(raw);
      })
    : server;
  await new Promise<void>((resolve, reject) => {
    listening.once('error', reject);
    listening.listen(port, host, resolve);
  });
  listening.on('error', onFailure);
  return {
    port: (listening.address() as AddressInfo).port,
    setTls: (pair) => front?.setPair(pair),
    takeEvicted: () => idle.takeEvicted(),
    stopListening: () => new Promise((resolve) => listening.close(() => resolve())),
    async closeConnections() {
      isClosing = true;
      if (serving > 0) await within(served.promise, lastAnswersMs);
      server.closeAllConnections();
      for (const raw of raws) raw.destroy();
    },
  };
}
