import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give out for outgoing connections and to listeners on port 0. */
const lowest = 10_000;
const highest = 32_000;

/**
 * Finds a free port on which a server can be started, stopped and started again: meanwhile the system gives it to nobody else, as
 * it does with a port that it chose itself.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
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
