import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * How the process that makes load learns that a consumer in another process has acked a message: over a Unix socket, the
 * same for every peer, all notices of one turn of the event loop in one write.
 */
export async function listenForAcks(
  path: string,
): Promise<AsyncDisposable & { acked: (n: number) => Promise<void> }> {
  const waiting = new Map<number, () => void>();
  const server = createServer((socket) => {
    createInterface({ input: socket }).on('line', (line) => {
      for (const n of line.split(',').map(Number)) {
        waiting.get(n)?.();
        waiting.delete(n);
      }
    });
  }).listen(path);
  await once(server, 'listening');
  return {
    acked: (n) => new Promise((resolve) => waiting.set(n, resolve)),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

/** Connects to the socket, in the process of the consumer. */
export async function openAckNotices(path: string): Promise<Disposable & { tell: (n: number) => void }> {
  const socket = connect(path);
  await once(socket, 'connect');
  let pending: number[] = [];
  const flush = (): void => {
    socket.write(`${pending.join(',')}\n`);
    pending = [];
  };
  return {
    tell: (n) => {
      if (pending.push(n) === 1) setImmediate(flush);
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
