import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The place of a cut: behind a commit that the server gets, or before a commit, which the server never gets. After a silent cut no
 * answer comes any more, and the connection stays open.
 */
export type Cut = 'behind a commit' | 'before a commit' | 'silently behind a commit';

/** A Unix socket in front of a server's, which cuts a connection once when it is told to. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts the next connection that sends a commit. */
  cutNext(cut: Cut): void;
  /** The number of connections that were cut. */
  readonly cuts: number;
  /** Lets nothing through until `heal`: it ends all connections and refuses new ones, or, silently, only passes nothing on. */
  cutOff(how: 'openly' | 'silently'): void;
  /** Lets everything through again, also what waited on connections that are still there. */
  heal(): void;
}

/** Starts a proxy in front of the server with this address, which names the folder of a socket. */
export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-pg-'));
  const behind = new URL(url).searchParams.get('host');
  const open = new Set<Socket>();
  let armed: Cut | undefined;
  let cuts = 0;
  let cutOff: 'openly' | 'silently' | undefined;
  const server = createServer((client) => {
    if (cutOff === 'openly') {
      client.destroy();
      return;
    }
    const upstream = createConnection(`${behind}/.s.PGSQL.5432`);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    upstream.pipe(client);
    if (cutOff !== undefined) for (const socket of [client, upstream]) socket.pause();
    client.on('data', (data) => {
      if (armed === undefined || !data.includes('COMMIT\0')) {
        upstream.write(data);
        return;
      }
      cuts++;
      if (armed === 'before a commit') client.destroy();
      else {
        // The answer of the server gets lost.
        upstream.unpipe(client);
        if (armed === 'behind a commit') upstream.once('data', () => client.destroy()).resume();
        upstream.write(data);
      }
      armed = undefined;
    });
  });
  server.listen(`${folder}/.s.PGSQL.5432`);
  await once(server, 'listening');
  const address = new URL(url);
  address.searchParams.set('host', folder);
  return {
    url: address.href,
    cutNext: (cut) => {
      armed = cut;
    },
    get cuts() {
      return cuts;
    },
    cutOff(how) {
      cutOff = how;
      for (const socket of open)
        if (how === 'openly') socket.destroy();
        else socket.pause();
    },
    heal() {
      cutOff = undefined;
      for (const socket of open) socket.resume();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
