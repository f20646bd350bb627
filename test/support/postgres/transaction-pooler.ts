import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A pooler in front of a server that gives each transaction another server connection, as PgBouncer's mode `transaction` does. */
export interface TransactionPooler extends AsyncDisposable {
  readonly url: string;
  /** The number of times that a client was moved to another server connection. */
  readonly moves: number;
}

/** A connection to the server, and the client that it works for. */
interface Upstream {
  socket: Socket;
  rest: Buffer;
  client: Client | undefined;
}

interface Client {
  socket: Socket;
  /** The bytes that it has sent and that wait for a server connection. */
  waiting: Buffer[];
  /** The number of its requests that are not answered yet. */
  open: number;
  upstream: Upstream | undefined;
}

const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Starts a pooler with some connections to the server with this address, which names the folder of a socket. */
export async function startTransactionPooler(url: string, connections = 3): Promise<TransactionPooler> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-pg-'));
  const path = `${new URL(url).searchParams.get('host')}/.s.PGSQL.5432`;
  const idle: Upstream[] = [];
  const queue: Client[] = [];
  const sockets = new Set<Socket>();
  const last = new Map<Client, Upstream>();
  let moves = 0;

  const serve = (): void => {
    while (idle.length > 0 && queue.length > 0) {
      const client = queue.shift()!;
      // Always another one than before, if there is one.
      const place = Math.max(
        idle.findIndex((one) => one !== last.get(client)),
        0,
      );
      const upstream = idle.splice(place, 1)[0]!;
      if (last.has(client) && last.get(client) !== upstream) moves++;
      last.set(client, upstream);
      upstream.client = client;
      client.upstream = upstream;
      for (const data of client.waiting.splice(0)) upstream.socket.write(data);
    }
  };

  const fromServer = (upstream: Upstream, data: Buffer): void => {
    upstream.rest = Buffer.concat([upstream.rest, data]);
    for (;;) {
      if (upstream.rest.length < 5) return;
      const length = 1 + upstream.rest.readInt32BE(1);
      if (upstream.rest.length < length) return;
      const message = upstream.rest.subarray(0, length);
      upstream.rest = upstream.rest.subarray(length);
      const { client } = upstream;
      client?.socket.write(message);
      if (message[0] !== 0x5a || !client) continue;
      client.open--;
      // `I`: no transaction is open.
      if (message[5] !== 0x49 || client.open > 0) continue;
      client.upstream = undefined;
      upstream.client = undefined;
      idle.push(upstream);
      serve();
    }
  };

  for (let i = 0; i < connections; i++) {
    const socket = createConnection(path);
    sockets.add(socket);
    await once(socket, 'connect');
    socket.write(startup(new URL(url).username || 'postgres'));
    // The pooler ignores the answers up to the first ReadyForQuery.
    let greeting = Buffer.alloc(0);
    while (!greeting.subarray(-6).equals(readyForQuery))
      greeting = Buffer.concat([greeting, (await once(socket, 'data'))[0] as Buffer]);
    const upstream: Upstream = { socket, rest: Buffer.alloc(0), client: undefined };
    socket.on('data', (data) => fromServer(upstream, data));
    idle.push(upstream);
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    const client: Client = { socket, waiting: [], open: 0, upstream: undefined };
    let isStarted = false;
    let rest = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (!isStarted) {
        isStarted = true;
        // The process id that it names belongs to no process of the server.
        const keyData = Buffer.from([0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1]);
        socket.write(Buffer.concat([authenticationOk, keyData, readyForQuery]));
        return;
      }
      rest = Buffer.concat([rest, data]);
      while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readInt32BE(1));
        rest = rest.subarray(message.length);
        // Terminate ends the client, and no server connection.
        if (message[0] === 0x58) return;
        // Query and Sync are answered with ReadyForQuery.
        if (message[0] === 0x51 || message[0] === 0x53) client.open++;
        if (client.upstream) client.upstream.socket.write(message);
        else {
          if (client.waiting.length === 0) queue.push(client);
          client.waiting.push(message);
        }
      }
      serve();
    });
  });
  server.listen(`${folder}/.s.PGSQL.5432`);
  await once(server, 'listening');
  const address = new URL(url);
  address.searchParams.set('host', folder);
  return {
    url: address.href,
    get moves() {
      return moves;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function startup(user: string): Buffer {
  const text = Buffer.from(`user\0${user}\0database\0postgres\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + text.length);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, text]);
}
