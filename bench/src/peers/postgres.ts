import type { Peer } from './peer.ts';
import { startPostgresServer } from './postgres-server.ts';

/** A queue in tables, as one builds it on a database one has already. */
export const postgres: Peer = {
  name: 'postgres',
  title: 'PostgreSQL, SKIP LOCKED + LISTEN',
  receiptMeans: 'fsynced',
  how: 'inserts of all that waits with their NOTIFY in one commit and one round trip; two consumers that take up to 256 with DELETE … FOR UPDATE SKIP LOCKED and answer in the same transaction; prepared statements, pipelined; 256 MB of shared buffers, a vacuum between runs',
  start: startPostgresServer,
  sides: async () =>
    (await import('./postgres-sides.ts')).tableQueueSides((await import('./postgres-queries.ts')).bareQueue),
};

/** The same, with the promise that our store makes. */
export const postgresKeeping: Peer = {
  name: 'postgres-keeping',
  title: 'PostgreSQL, the same with ids, caps and history',
  receiptMeans: 'fsynced',
  promisesSame: true,
  how: 'as the queue before, and with the promise of Signalbox: a unique index on (inbox, sender, id), settled messages included; a row with a cap for each inbox; the metadata of settled messages is kept; one statement for each batch',
  start: startPostgresServer,
  sides: async () =>
    (await import('./postgres-sides.ts')).tableQueueSides(
      (await import('./postgres-keeping-queries.ts')).keepingQueue,
    ),
};

/** A queue in tables that a library of npm makes. */
export const pgBoss: Peer = {
  name: 'pg-boss',
  title: 'pg-boss 12.38',
  receiptMeans: 'fsynced',
  how: 'one insert() of all that waits; a worker on each queue, woken by LISTEN, which fetches up to 256 jobs and inserts the replies before these are completed (two workers were slower, as were a transaction for both and tables for each queue); the server and its settings are those of the queues written by hand',
  start: startPostgresServer,
  sides: async () => (await import('./pg-boss-sides.ts')).pgBossSides,
};
