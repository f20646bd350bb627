import { freePort, runProgram, startProgram } from '../external-program.ts';
import type { Peer } from './peer.ts';

/** Starts a redis-server with an append-only file; its save points are off, so that nothing forks meanwhile. */
export async function startRedis(
  dir: string,
  appendfsync: 'everysec' | 'always',
): Promise<AsyncDisposable & { port: number; version: string }> {
  const debianPackage = 'redis-server';
  const told = await runProgram({ command: 'redis-server', args: ['--version'], debianPackage });
  const port = await freePort();
  const settings = {
    port,
    bind: '127.0.0.1',
    dir,
    appendonly: 'yes',
    appendfsync,
    save: '',
    // Rewritten between runs instead, so that no run pays for those before it.
    'auto-aof-rewrite-percentage': 0,
  };
  const args = Object.entries(settings).flatMap(([key, value]) => [`--${key}`, `${value}`]);
  const server = await startProgram({ command: 'redis-server', args, debianPackage, port });
  return Object.assign(server, { port, version: `Redis ${told.match(/v=(\S+)/)?.[1]}` });
}

/**
 * Redis Streams with consumer groups. With `dedupe`, the script that stores a message or a reply also remembers its id, and stores nothing
 * for an id that it knows: what a broker has to promise whose clients send again.
 */
export function redisStreams(
  appendfsync: 'everysec' | 'always',
  { dedupe }: { dedupe: boolean } = { dedupe: false },
): Peer {
  const stores = dedupe
    ? 'messages and replies are stored by a script, which sets a key with the id for ten minutes, and does the XADD only if there was none'
    : 'XADD stores messages and replies';
  return {
    name: `redis-${appendfsync}${dedupe ? '-dedupe' : ''}`,
    title: `Redis Streams, fsync ${appendfsync === 'always' ? 'always' : 'every second'}${dedupe ? ', ids stored once' : ''}`,
    receiptMeans: appendfsync === 'always' ? 'fsynced' : 'written',
    promisesSame: dedupe && appendfsync === 'always',
    how: `${stores}; XREADGROUP takes up to 256; one pipeline holds XACK and XDEL of these and their replies; each client has a stream for its replies; ioredis with automatic pipelining; the append-only file is rewritten only between runs`,
    start: async (dir) => {
      const server = await startRedis(dir, appendfsync);
      const { port, version } = server;
      return {
        version,
        facts: { url: `redis://127.0.0.1:${port}`, ...(dedupe && { dedupe: 'yes' }) },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
    sides: async () => (await import('./redis-sides.ts')).redisSides,
  };
}
