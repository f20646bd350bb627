import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The lowest port. These ports are below those that systems give out for outgoing connections and to listeners on port 0. */
const lowest = 10_000;
const highest = 32_000;

/** The number of shares. Each process of a test run has ports of its own, so that none takes one while its server is restarted. */
const shares = 16;
const perShare = Math.floor((highest - lowest) / shares);
const share = Number(process.env.VITEST_POOL_ID ?? 0) % shares;

// Ports are given out in sequence, so that this process gives none out again while it may be in use.
let given = randomInt(perShare);

/**
 * Finds a free port on which a server can be started, stopped and started again. Meanwhile the system gives it to nobody else, which it
 * might do with a port that it chose itself.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    given = (given + 1) % perShare;
    const port = lowest + share * perShare + given;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
