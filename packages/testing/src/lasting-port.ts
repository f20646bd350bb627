import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** The lowest port. These ports are below those that systems give out for outgoing connections and to listeners on port 0. */
const lowest = 10_000;
const highest = 32_000;
/** Each process of each test run has a share of the ports, so that none takes a port while the server of another one is restarted. */
const perShare = 200;
const shares = Math.floor((highest - lowest) / perShare);

let share: Promise<number> | undefined;
// Ports are given out in sequence, so that this process gives none out again while it may be in use.
let given = 0;

/**
 * Finds a free port on which a server can be started, stopped and started again. Meanwhile the system gives it to nobody else, which it
 * might do with a port that it chose itself.
 */
export async function lastingPort(): Promise<number> {
  share ??= takeShare();
  const first = await share;
  for (;;) {
    given = (given % (perShare - 1)) + 1;
    const server = await listenAt(first + given);
    if (!server) continue;
    server.close();
    await once(server, 'close');
    return first + given;
  }
}

/** Takes a share that no process of this machine has, and returns its first port. Listening there claims it until this process ends. */
async function takeShare(): Promise<number> {
  for (let tried = 0; tried < shares; tried++) {
    const first = lowest + ((process.pid + tried) % shares) * perShare;
    const claim = await listenAt(first);
    if (!claim) continue;
    claim.unref();
    return first;
  }
  throw new Error(`no share of the ports from ${lowest} to ${highest} is free`);
}

async function listenAt(port: number): Promise<Server | undefined> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
