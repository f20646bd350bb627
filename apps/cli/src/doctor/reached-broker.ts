import type { BrokerClient } from '@signalbox/client';
import { runningBroker } from '@signalbox/daemon/data-directory';
import { SignalboxError } from '@signalbox/protocol';
import { openClient, ownAddress } from '../connection/connected-client.ts';
import { type Connection, type ConnectionFlags, resolveConnection } from '../connection/connection.ts';
import type { Machine } from './machine.ts';

/**
 * The broker as a command finds it. `absent`: none runs on the data directory, and nothing names another. `refused`: it does not accept
 * the token. `failed`: it can't be reached, although one should be there; `pid` is its process, if it runs on the data directory.
 */
export type ReachedBroker =
  | { state: 'connected'; connection: Connection; client: BrokerClient }
  | { state: 'absent' }
  | { state: 'refused'; connection: Connection }
  | { state: 'failed'; error: unknown; pid?: number };

/** Connects as any other command would. The caller closes the client. */
export async function reachBroker(
  flags: ConnectionFlags,
  dataDir: string,
  { env, cwd, home }: Machine,
): Promise<ReachedBroker> {
  let connection: Connection | undefined;
  try {
    // The check of tokens reports what a warning would say.
    connection = await resolveConnection(flags, env, { cwd, home, warn: () => {} });
    const client = await openClient(connection, ownAddress(connection));
    return { state: 'connected', connection, client };
  } catch (error) {
    if (connection && error instanceof SignalboxError && error.code === 'unauthorized')
      return { state: 'refused', connection };
    const isUnknown = error instanceof SignalboxError && error.code === 'bad_config';
    const isNamed = connection ? isElsewhere(connection) : isUnknown || namesBroker(flags, env);
    if (isNamed) return { state: 'failed', error };
    const pid = runningBroker(dataDir)?.pid;
    return pid === undefined ? { state: 'absent' } : { state: 'failed', error, pid };
  }
}

function isElsewhere({ from }: Connection): boolean {
  return from.by !== 'configuration' && from.by !== 'data directory';
}

function namesBroker({ url, tokenFile }: ConnectionFlags, env: NodeJS.ProcessEnv): boolean {
  const named = [url, tokenFile, env.SIGNALBOX_URL, env.SIGNALBOX_TOKEN_FILE, env.SIGNALBOX_TOKEN];
  return named.some((text) => text !== undefined && text !== '');
}
