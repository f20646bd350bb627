import { join } from 'node:path';
import { openPostgresStores } from '@signalbox/postgres';
import type { InboxStore } from '@signalbox/store';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type Cut, startCuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };

/** Sends until it is told to stop. Returns the ids that were stored, in their order. */
async function sendUntil(store: InboxStore, isOver: () => boolean): Promise<string[]> {
  const stored: string[] = [];
  for (let i = 0; !isOver(); i++) {
    const [appended] = await store.commit({ ...none, messages: [message(`m${i}`)] });
    // After a crash of the server, the store may find what it stored before, but has told nobody of it.
    expect(appended?.result).toBe('stored');
    stored.push(`m${i}`);
  }
  return stored;
}

describe.skipIf(serverUrl === undefined)('A PostgreSQL store whose connection is lost', () => {
  it.each<Cut>(['behind a commit', 'before a commit', 'silently behind a commit'])(
    'stores a message once when the connection is cut %s, and says so',
    async (cut) => {
      await using schema = await testSchema();
      await using proxy = await startCuttingProxy(schema.url);
      await using store = await openMessages({ ...schema, url: proxy.url, answerMs: 500 });
      await store.commit({ ...none, messages: [message('first')] });
      for (let i = 0; i < 5; i++) {
        proxy.cutNext(cut);
        const results = await store.commit({
          ...none,
          messages: [message(`cut-${i}`), message(`with-${i}`)],
        });
        expect(results.map(({ result }) => result)).toEqual(['stored', 'stored']);
      }
      expect(proxy.cuts).toBe(5);
      const ids = (await store.read('inbox', 0, 99, 1e6)).map(({ id }) => id);
      expect(ids).toEqual(['first', ...[0, 1, 2, 3, 4].flatMap((i) => [`cut-${i}`, `with-${i}`])]);
      expect(await store.stats('inbox')).toMatchObject({ pending: 11 });
    },
  );

  it('goes on after a crash of the server that undid the take of an inbox, which was not synced', async () => {
    const server = await startPostgres({ settings: { wal_writer_delay: '10s' } });
    await using _server = server;
    await using folder = await tempDir();
    const mark = { file: join(folder.path, 'mark'), onRestored: (reason: string) => expect.fail(reason) };
    const share = { url: server!.url, schema: 'signalbox', broker: 'one', leaseMs: 10_000_000, mark };
    const stores = await openPostgresStores({ ...share, owner: 'one' });
    const first = await stores.inboxes.commit({ ...none, messages: [message('a')] });
    expect(first).toMatchObject([{ result: 'stored' }]);
    await stores.cluster.take('elsewhere');
    await server!.stop('immediate');
    await server!.start();
    expect(await stores.inboxes.commit({ ...none, messages: [message('b')] })).toMatchObject([
      { result: 'stored' },
    ]);
    await stores.cluster.take('elsewhere');
    await server!.stop('immediate');
    await server!.start();
    // As after a kill -9 of the broker: the file has what it confirmed last.
    await using _next = await openPostgresStores({ ...share, owner: 'one' });
    await Promise.allSettled([stores[Symbol.asyncDispose]()]);
  });

  it('goes on when the server ends every connection, and loses and doubles nothing', async () => {
    await using schema = await testSchema();
    await using store = await openMessages({ ...schema });
    let isOver = false;
    const sending = sendUntil(store, () => isOver);
    for (let round = 0; round < 20; round++) {
      await schema.sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox' AND query LIKE '%${schema.schema}%'`,
      );
      await store.stats('inbox');
    }
    isOver = true;
    const stored = await sending;
    expect((await store.read('inbox', 0, 1e6, 1e9)).map(({ id }) => id)).toEqual(stored);
  });

  it('goes on over a crash of the server, with everything that it confirmed', async () => {
    await using server = await startPostgres();
    await using store = await openMessages({ url: server!.url, schema: 'signalbox' });
    let isOver = false;
    const sending = sendUntil(store, () => isOver);
    for (let round = 0; round < 3; round++) {
      await store.commit({
        ...none,
        messages: [message(`other-${round}`)].map((one) => ({ ...one, inbox: 'other' })),
      });
      await server!.stop('immediate');
      await server!.start();
    }
    isOver = true;
    const stored = await sending;
    expect((await store.read('inbox', 0, 1e6, 1e9)).map(({ id }) => id)).toEqual(stored);
    expect(await store.stats('other')).toMatchObject({ pending: 3 });
  });

  it('refuses what it is asked while the server is away for longer than it waits, and then goes on', async () => {
    await using server = await startPostgres();
    await using store = await openMessages({
      url: server!.url,
      schema: 'signalbox',
      patienceMs: 300,
    });
    await store.commit({ ...none, messages: [message('before')] });
    await server!.stop('fast');
    const unavailable = {
      code: 'store_unavailable',
      isFinal: false,
      message: expect.stringContaining('Nothing is stored until it can be reached again'),
    };
    await expect(store.commit({ ...none, messages: [message('lost')] })).rejects.toMatchObject(unavailable);
    await expect(store.stats('inbox')).rejects.toMatchObject(unavailable);
    await expect(store.prove()).rejects.toMatchObject(unavailable);
    await server!.start();
    expect(await store.prove()).toBe('works');
    expect(await store.commit({ ...none, messages: [message('after')] })).toMatchObject([
      { result: 'stored' },
    ]);
    expect((await store.read('inbox', 0, 9, 1e6)).map(({ id }) => id)).toEqual(['before', 'after']);
  });
});
