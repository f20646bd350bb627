import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { StatusRequests } from './status-requests.ts';

/** An import statement would load every export of `node:http`, and some of them load all of `fetch`. */
const { createServer } = process.getBuiltinModule('node:http');

/** The most connections at a time. Each is for one request, so that clients need few. */
const maxConnections = 64;
/** The time that a client has to send its request, in milliseconds. */
const requestMs = 5000;

/** A listener for probes and scrapers. It is closed when it is disposed. */
export interface StatusListener extends AsyncDisposable {
  /** The port that it listens on. */
  readonly port: number;
}

/**
 * Listens on `host` and `port`, only for requests. If there are too many connections, the oldest one is closed for a newer one. Rejects
 * with the error of the socket, such as `EADDRINUSE`.
 */
export async function openStatusListener(
  { host, port }: { host: string; port: number },
  requests: Pick<StatusRequests, 'handle'>,
): Promise<StatusListener> {
  const timeouts = { headersTimeout: requestMs, requestTimeout: requestMs, keepAliveTimeout: 1 };
  const server = createServer({ ...timeouts, connectionsCheckingInterval: 1000 }, (request, response) => {
    void requests.handle(request, response);
  });
  server.maxRequestsPerSocket = 1;
  const open = boundConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** Closes the oldest connection of a server when there are too many. Returns the open ones, the oldest first. */
function boundConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > maxConnections) oldest?.destroy();
  });
  return open;
}
