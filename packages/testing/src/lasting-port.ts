import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give out for outgoing connections and to listeners on port 0. */
const lowest = 10_000;
const highest = 32_000;

/** The processes of a test run each have ports of their own, so that none takes one while its server is started again. */
const shares = 16;
const perShare = Math.floor((highest - lowest) / shares);
const share = Number(process.env.VITEST_POOL_ID ?? 0) % shares;

// Ports follow each other, so that this process gives none out again while it may be in use.
let given = randomInt(perShare);

/**
 * Finds a free port on which a server can be started, stopped and started again: meanwhile the system gives it to nobody else, as
 * it does with a port that it chose itself.
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
