import { join } from 'node:path';
import { commitOf, harnessOf } from '../before.ts';
import { startProcess } from '../processes.ts';
import type { Facts, Peer } from './peer.ts';
import { startPostgresServer } from './postgres-server.ts';

const thisHarness = new URL('../', import.meta.url);

/** The names of the peers that are our own broker. */
export const ownNames: readonly string[] = ['full', 'process', 'socket', 'on-postgres', 'on-postgres-two'];

/** Our own broker with `full` durability, whose clients reach it over its Unix socket. */
export function signalboxSocket(): Peer {
  const peer = signalbox('full');
  return {
    ...peer,
    name: 'socket',
    title: 'Signalbox `full`, Unix socket',
    how: 'as `full`, over the Unix socket in place of TCP',
    start: async (dataDir) => {
      const { facts, ...servers } = await peer.start(dataDir);
      return { ...servers, facts: { ...facts, url: facts.socket ?? facts.url } };
    },
  };
}

/** Our own broker in a process of its own; the one of another checkout, with its clients, if `before` is its root. */
export function signalbox(durability: 'full' | 'process', before?: URL): Peer {
  const harness = before ? harnessOf(before) : thisHarness;
  return {
    name: before ? `${durability}-before` : durability,
    title: `Signalbox \`${durability}\`${before ? ', before' : ''}`,
    receiptMeans: durability === 'full' ? 'fsynced' : 'written',
    how: 'the client library, as in the README; acks that are due in one turn of the event loop go in one call; limits on rates and queues are lifted',
    start: async (dataDir) => {
      const broker = await startProcess(new URL('peers/signalbox-broker-process.ts', harness), {
        dataDir,
        durability,
      });
      return {
        version: before ? `commit ${await commitOf(before)}` : 'this repository',
        facts: broker.facts as Facts,
        [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
      };
    },
    sides: async () => (await import('./signalbox-sides.ts')).signalboxSides,
    ...(before && { inOtherCheckout: { harness, name: durability } }),
  };
}

/**
 * One or two of our brokers with their messages in PostgreSQL. With two, clients are at one of them, and consumers at the other.
 * They are those of another checkout if `before` is its root.
 */
export function signalboxOnPostgres(brokers: 1 | 2, before?: URL): Peer {
  const isOne = brokers === 1;
  const harness = before ? harnessOf(before) : thisHarness;
  const name = isOne ? 'on-postgres' : 'on-postgres-two';
  return {
    name: before ? `${name}-before` : name,
    title: `Signalbox on PostgreSQL, ${isOne ? 'one broker' : 'two brokers'}${before ? ', before' : ''}`,
    receiptMeans: 'fsynced',
    how: `as \`full\`, with the messages in PostgreSQL, whose settings are those of the queues${isOne ? '' : '; clients are at one broker, consumers at the other'}`,
    start: async (dir) => {
      await using opened = new AsyncDisposableStack();
      const { facts: database, version } = opened.use(await startPostgresServer(dir));
      const start = async (broker: string) =>
        opened.use(
          await startProcess(new URL('peers/signalbox-broker-process.ts', harness), {
            dataDir: join(dir, broker),
            postgres: { url: database.url, schema: 'signalbox', broker },
          }),
        );
      const { facts } = await start('one');
      const other = isOne ? undefined : await start('other');
      const servers = opened.move();
      return {
        version: `${before ? `commit ${await commitOf(before)}` : 'this repository'}, ${version}`,
        facts: {
          ...(facts as Facts),
          database: database.url,
          ...(other && { consumerUrl: other.facts.url! }),
        },
        [Symbol.asyncDispose]: () => servers.disposeAsync(),
      };
    },
    sides: async () => (await import('./signalbox-sides.ts')).signalboxSides,
    ...(before && { inOtherCheckout: { harness, name } }),
  };
}
