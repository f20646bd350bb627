import { openPostgresStores, type PostgresStores, type PostgresStoresOptions } from '@signalbox/postgres';
import type { InboxStore } from '@signalbox/store';
import type { StoreUnderTest } from '@signalbox/store/conformance';
import pg from 'pg';
import { serverVariable } from './one-server.ts';

const hour = 60 * 60 * 1000;
const startedAt = 1_800_000_000_000;

/** The address of the server of the tests; undefined where there is none, and its tests are skipped. */
export const serverUrl = process.env[serverVariable];

let schemas = 0;

/** A schema of its own on the server of the tests, which is dropped when it is disposed. */
export async function testSchema(
  url = serverUrl ?? '',
): Promise<
  AsyncDisposable & { url: string; schema: string; sql: (text: string) => Promise<Record<string, unknown>[]> }
> {
  const schema = `test_${process.pid}_${++schemas}`;
  const client = new pg.Client({ connectionString: url });
  // The server may be restarted by a test.
  client.on('error', () => {});
  await client.connect();
  return {
    url,
    schema,
    sql: async (text) => (await client.query(text.replaceAll('@', `${schema}.`))).rows,
    async [Symbol.asyncDispose]() {
      await client.query(`DROP SCHEMA IF EXISTS ${schema}, ${schema}_journal CASCADE`).catch(() => {});
      await client.end();
    },
  };
}

/** Opens the messages of a broker, `one` unless it has a name. Disposing the store ends the incarnation of the broker. */
export async function openMessages(
  options: Omit<PostgresStoresOptions, 'broker'> & { broker?: string },
): Promise<InboxStore> {
  const stores = await openPostgresStores({ broker: 'one', ...options });
  return Object.assign(stores.inboxes, {
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  });
}

/** A store in a schema of its own, with a clock that tests advance. */
export async function openPostgresStore(
  options: Partial<Parameters<typeof openMessages>[0]> = {},
): Promise<StoreUnderTest> {
  const schema = await testSchema(options.url);
  let clock = startedAt;
  const now = () => clock;
  const { url } = schema;
  const open = () => openMessages({ now, monotonic: now, ...options, url, schema: schema.schema });
  let store = await open();
  return {
    get store() {
      return store;
    },
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await open();
      return store;
    },
    advance: (ms) => {
      clock += ms;
    },
    now,
    forgottenAfterMs: 25 * hour,
    memoryRoom: 0,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await schema[Symbol.asyncDispose]();
    },
  };
}

/** The stores of a broker in a schema of their own, which are opened again. */
export async function openTestStores(
  options: Omit<PostgresStoresOptions, 'broker' | 'url' | 'schema'> = {},
): Promise<AsyncDisposable & { readonly stores: PostgresStores; reopen(): Promise<PostgresStores> }> {
  const schema = await testSchema();
  const open = () => openPostgresStores({ ...options, ...schema, broker: 'one' });
  let stores = await open();
  return {
    get stores() {
      return stores;
    },
    async reopen() {
      await stores[Symbol.asyncDispose]();
      stores = await open();
      return stores;
    },
    async [Symbol.asyncDispose]() {
      await stores[Symbol.asyncDispose]();
      await schema[Symbol.asyncDispose]();
    },
  };
}
