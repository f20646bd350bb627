import { StoreError } from '@signalbox/store/rules';
import { ConnectionLost } from './connection.ts';

/**
 * Opens something at the first of several servers that can be reached and accepts changes, in their order. `open` rejects with
 * `ConnectionLost` or with the `StoreError` `store_unwritable` if the next server should be tried. The error of the last server says what
 * happened at each of them.
 */
export async function atFirstServer<T>(
  servers: readonly string[],
  open: (server: string) => Promise<T>,
): Promise<T> {
  if (servers.length === 1) return open(servers[0]!);
  const problems: string[] = [];
  for (const server of servers) {
    try {
      return await open(server);
    } catch (thrown) {
      if (!mayTryNext(thrown)) throw thrown;
      problems.push(thrown.message);
    }
  }
  throw new ConnectionLost(problems.join('; '));
}

function mayTryNext(thrown: unknown): thrown is Error {
  return (
    thrown instanceof ConnectionLost || (thrown instanceof StoreError && thrown.code === 'store_unwritable')
  );
}
