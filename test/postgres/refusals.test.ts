import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { installedPostgres } from '@signalbox/postgres/temporary-server';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { openMessages, serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };
const schema = 'signalbox';

function refusal(code: string, ...texts: string[]): unknown {
  return expect.objectContaining({
    code,
    message: expect.stringMatching(new RegExp(texts.map((text) => `(?=.*${text})`).join(''), 's')),
  });
}

describe.skipIf(serverUrl === undefined)('A PostgreSQL store', () => {
  it('refuses a wrong password, a user and a database that are not there, and rights that are missing', async () => {
    await using server = await startPostgres({ password: 'right' });
    const url = new URL(server!.url);
    const open = async (change: Partial<Pick<URL, 'username' | 'password' | 'pathname'>>) => {
      const changed = Object.assign(new URL(url.href), { password: 'right', ...change });
      await using store = await openMessages({ url: changed.href, schema, patienceMs: 0 });
      return store.caps.receiptMeans;
    };
    expect(await open({})).toBe('fsynced');
    const credentials = 'Correct the user and the password in broker.store.postgres';
    await expect(open({ password: 'wrong' })).rejects.toEqual(refusal('store_refused', credentials));
    await expect(open({ username: 'nobody' })).rejects.toEqual(refusal('store_refused', credentials));
    await expect(open({ pathname: '/absent' })).rejects.toEqual(
      refusal('store_refused', "database 'absent'", 'createdb'),
    );
    await using _admin = await testSchema(Object.assign(new URL(url.href), { password: 'right' }).href);
    await _admin.sql(`CREATE ROLE weak LOGIN PASSWORD 'right'`);
    await expect(open({ username: 'weak' })).rejects.toEqual(
      refusal('store_refused', 'permission denied', 'The user must own the schema'),
    );
    await expect(open({ password: 'wrong' })).rejects.not.toThrow(/wrong/);
  });

  it('refuses a server that is not there, an address that is none, and a schema that has no plain name', async () => {
    const absent = 'postgres://postgres@localhost/postgres?host=/tmp/signalbox-absent';
    const open = (url: string, name = schema) => openMessages({ url, schema: name, patienceMs: 0 });
    await expect(open(absent)).rejects.toEqual(refusal('store_unavailable', 'start the server'));
    for (const address of ['postgres://[', 'mysql://localhost/db', 'db.example.com'])
      await expect(open(address)).rejects.toEqual(refusal('store_refused', 'postgres://user:password@host'));
    for (const name of ['', 'Upper', 'x"y', 'pg_own', 'a'.repeat(49)])
      await expect(open(absent, name)).rejects.toEqual(refusal('store_refused', 'broker.store.schema'));
  });

  it('refuses a schema with tables of another program, and changes nothing', async () => {
    await using test = await testSchema();
    await test.sql(`CREATE SCHEMA ${test.schema}`);
    await test.sql('CREATE TABLE @message (text text)');
    await expect(openMessages({ ...test })).rejects.toEqual(
      refusal('store_refused', 'another program', 'broker.store.schema'),
    );
    expect(await test.sql(`SELECT tablename FROM pg_tables WHERE schemaname = '${test.schema}'`)).toEqual([
      { tablename: 'message' },
    ]);
  });

  it('refuses tables of another version, and names both', async () => {
    await using test = await testSchema();
    const open = () => openMessages({ ...test });
    await (await open())[Symbol.asyncDispose]();
    const [{ value: ours }] = (await test.sql(`SELECT value FROM @meta WHERE key = 'version'`)) as [
      { value: string },
    ];
    await test.sql(`UPDATE @meta SET value = '99' WHERE key = 'version'`);
    await expect(open()).rejects.toEqual(
      refusal('store_other_version', 'it has version 99', `this Signalbox reads version ${ours}`),
    );
    await test.sql(`UPDATE @meta SET value = '${ours}' WHERE key = 'version'`);
    await (await open())[Symbol.asyncDispose]();
  });

  it('says what a receipt means, also after the server was told otherwise', async () => {
    await using test = await testSchema();
    const url = new URL(test.url);
    url.searchParams.set('options', '-c synchronous_commit=off');
    await using weak = await openMessages({ ...test, url: url.href });
    expect(weak.caps.receiptMeans).toBe('written');
    await using server = await startPostgres({ settings: { fsync: 'off' } });
    await using store = await openMessages({ url: server!.url, schema });
    expect(store.caps.receiptMeans).toBe('written');
    await server!.start({ fsync: 'on' });
    await store.commit({ ...none, messages: [message('a')] });
    expect(store.caps.receiptMeans).toBe('fsynced');
  });

  it('refuses a standby, and its receipts mean replicated on the primary that waits for one', async () => {
    await using primary = await startPostgres();
    await using standby = await primary!.standby('one');
    await using test = await testSchema(primary!.url);
    await using store = await openMessages({ ...test, broker: 'one' });
    expect(store.caps.receiptMeans).toBe('fsynced');
    await test.sql(`ALTER SYSTEM SET synchronous_standby_names = 'one'`);
    await test.sql('SELECT pg_reload_conf()');
    const meaning = async () => {
      await store.sweep({ times: [1], earliest: 1, latest: 1 });
      return store.caps.receiptMeans;
    };
    await expect.poll(meaning).toBe('replicated');
    expect(await store.commit({ ...none, messages: [message('a')] })).toMatchObject([{ result: 'stored' }]);
    const open = () => openMessages({ url: standby.url, schema: test.schema, broker: 'other' });
    await expect(open()).rejects.toEqual(refusal('store_unwritable', 'is a standby', 'Name the primary'));
    await primary!.stop('immediate');
    await using other = await testSchema(standby.url);
    await other.sql('SELECT pg_promote()');
    await using promoted = await open();
    expect((await promoted.read('inbox', 0, 9, 1e6)).map(({ id }) => id)).toEqual(['a']);
    expect(await promoted.identity()).toBe(await store.identity());
  });

  it.skipIf(installedPostgres(15) === undefined)('works with PostgreSQL 15', async () => {
    await using server = await startPostgres({ version: 15 });
    await using store = await openMessages({ url: server!.url, schema });
    const [stored] = await store.commit({ ...none, messages: [message('a')] });
    expect(stored?.result).toBe('stored');
    const seq = stored?.result === 'stored' ? stored.seq : 0;
    await store.commit({
      ...none,
      settlements: [{ inbox: 'inbox', seq, outcome: 'dead', reason: 'no\0use' }],
    });
    expect(await store.dead.find(seq)).toMatchObject({ body: '"body"', reason: 'no\ufffduse' });
    expect((await store.history({ since: 0, limit: 9 })).entries).toHaveLength(1);
    await store.sweep({ times: [1], earliest: 1, latest: 1 });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'refuses what finds no room on the disk of the server, changes nothing, and goes on when there is room',
    async () => {
      await using server = await startPostgres();
      await using folder = await tempDir('signalbox-pg-');
      const disk = join(folder.path, 'disk');
      mkdirSync(disk);
      chmodSync(folder.path, 0o755);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]);
      try {
        const { uid, gid } = statSync(server!.data);
        chownSync(disk, uid, gid);
        await using admin = await testSchema(server!.url);
        await admin.sql(`CREATE TABLESPACE small LOCATION '${disk}'`);
        const url = new URL(server!.url);
        url.searchParams.set('options', '-c default_tablespace=small');
        await using store = await openMessages({ url: url.href, schema });
        const body = 'x'.repeat(100_000);
        const stored: { id: string; seq: number }[] = [];
        for (let i = 0; ; i++) {
          const id = `m${i}`;
          const [appended] = await store.commit({ ...none, messages: [{ ...message(id), body }] });
          if (appended?.result !== 'stored') {
            expect(appended).toEqual({ result: 'storage_full' });
            break;
          }
          stored.push({ id, seq: appended.seq });
        }
        expect(stored.length).toBeGreaterThan(10);
        expect((await store.read('inbox', 0, 1e4, 1e9)).map(({ id }) => id)).toEqual(
          stored.map(({ id }) => id),
        );
        expect(await store.prove()).toBe('works');
        const settlements = stored.map(({ seq }) => ({ inbox: 'inbox', seq, outcome: 'acked' as const }));
        await expect(store.commit({ ...none, settlements })).rejects.toMatchObject({
          code: 'store_full',
          isFinal: false,
        });
        expect(await store.stats('inbox')).toMatchObject({ pending: stored.length });
        execFileSync('mount', ['-o', 'remount,size=64m', disk]);
        await store.commit({ ...none, settlements });
        expect(await store.stats('inbox')).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
        expect(await store.commit({ ...none, messages: [{ ...message('later'), body }] })).toMatchObject([
          { result: 'stored' },
        ]);
      } finally {
        await server!.stop('immediate');
        execFileSync('umount', [disk]);
      }
    },
  );
});
