import { createHash } from 'node:crypto';
import { openPostgresStores } from '@signalbox/postgres';
import type { TestStores } from '@signalbox/testing';
import pg from 'pg';
import { serverVariable } from './one-server.ts';

/** The stores of brokers of tests on PostgreSQL: each data directory has a schema. */
export const testStores: TestStores = {
  of: (dataDir) => ({
    noBackup: 'this is a test',
    // A broker whose monotonic clock leaps has lost its incarnation, so that the stores have a clock that tests don't move.
    open: ({ monotonic: _moved, ...settings }) =>
      openPostgresStores({
        ...settings,
        url: serverUrl(),
        schema: schemaOf(dataDir),
        broker: 'one',
        owner: dataDir,
      }),
  }),
  rows: (dataDir) =>
    withClient(async (client) => {
      const schema = schemaOf(dataDir);
      const { rows } = await client.query<{ name: string }>(
        `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1
           AND (table_name IN ('message', 'scheduled', 'dead_letter', 'open_request') OR table_name LIKE 'settled%') ORDER BY table_name`,
        [schema],
      );
      const all: unknown[] = [];
      for (const { name } of rows) {
        const text = `SELECT m::text AS row, seq, inbox FROM ${schema}.${name} m ORDER BY seq`;
        all.push([name, (await client.query(text)).rows]);
      }
      return JSON.stringify(all);
    }),
  audit: (dataDir, kind) =>
    withClient(async (client) => {
      const text = `SELECT entry FROM ${schemaOf(dataDir)}.audit WHERE kind = $1 ORDER BY number`;
      return (await client.query<{ entry: string }>(text, [kind])).rows.map(({ entry }) => entry);
    }),
  commits: (dataDir) =>
    withClient(async (client) => {
      const text = `SELECT count(DISTINCT xmin::text)::int AS count FROM ${schemaOf(dataDir)}.message`;
      return (await client.query<{ count: number }>(text)).rows[0]?.count ?? 0;
    }),
  drop: (dataDir) =>
    withClient(async (client) => {
      await client.query(`DROP SCHEMA IF EXISTS ${schemaOf(dataDir)} CASCADE`);
    }),
};

function schemaOf(dataDir: string): string {
  return `test_${createHash('sha256').update(dataDir).digest('hex').slice(0, 24)}`;
}

function serverUrl(): string {
  const url = process.env[serverVariable];
  if (url === undefined) throw new Error(`name a server with ${serverVariable}=postgres://…`);
  return url;
}

async function withClient<T>(run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}
