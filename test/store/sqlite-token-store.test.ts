import { copyFileSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type AuditEvent, type HoldRecord, openSqliteTokenStore, type TokenRecord } from '@signalbox/store';
import { tokenStoreConformance } from '@signalbox/store/conformance';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, it, vi } from 'vitest';

const plain: TokenRecord = {
  id: 'one',
  hash: 'aa',
  agent: 'ann',
  role: 'worker',
  permissions: [],
  createdAt: 1,
};
const child: TokenRecord = {
  id: 'two',
  hash: 'bb',
  agent: 'ci-*',
  role: 'worker',
  permissions: ['mint', 'operator'],
  roles: ['worker', 'tester'],
  createdAt: 2,
  expiresAt: 3,
  parentId: 'one',
  isSignIn: true,
};

tokenStoreConformance('SQLite', async () => {
  const directory = await tempDir();
  const open = () => openSqliteTokenStore({ file: join(directory.path, 'tokens.db') });
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
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
});

it('keeps its file from other users', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  await using store = await openSqliteTokenStore({ file });
  await store.add(plain);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

/** The tokens that are left of a store that was killed and lost the log of SQLite. */
async function withoutLog(file: string): Promise<TokenRecord[]> {
  const copy = `${file}.copy`;
  copyFileSync(file, copy);
  await using store = await openSqliteTokenStore({ file: copy });
  return await store.all();
}

it('keeps what was added and removed without the log of SQLite, which may be cut', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  await using store = await openSqliteTokenStore({ file });
  await store.addAgents(['ann']);
  await store.add(plain);
  await store.add(child);
  expect(await withoutLog(file)).toEqual([plain, child]);
  await store.remove('two');
  expect(await withoutLog(file)).toEqual([plain]);
  expect(existsSync(`${file}-wal`) && statSync(`${file}-wal`).size).toBe(0);
});

it('removes a token at once while somebody reads, and keeps it removed without the log soon after', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  await using store = await openSqliteTokenStore({ file });
  await store.add(plain);
  await store.add(child);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const reader = new Database(file, { readonly: true });
  try {
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM token').get();
    expect(await store.remove('two')).toEqual(['two']);
    expect(await store.all()).toEqual([plain]);
    vi.advanceTimersByTime(1000);
    expect(await withoutLog(file)).toEqual([plain, child]);
    reader.exec('COMMIT');
    vi.advanceTimersByTime(1000);
    expect(await withoutLog(file)).toEqual([plain]);
  } finally {
    reader.close();
    vi.useRealTimers();
  }
});

it('says which hold is damaged', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  const by = { by: 'operator.kim', tokenId: 't1', cancelsRunning: true };
  const first: HoldRecord = { id: 'h1', on: 'agent', name: 'rosa', reason: 'why', createdAt: 1, ...by };
  const second: HoldRecord = { id: 'h2', on: 'all', name: '', reason: 'why', createdAt: 2, until: 3, ...by };
  {
    await using store = await openSqliteTokenStore({ file });
    await store.addHold(second);
    await store.addHold(first);
  }
  const db = new Database(file);
  db.exec("UPDATE hold SET name = 'walt' WHERE id = 'h1'");
  db.close();
  const found: unknown[] = [];
  await using store = await openSqliteTokenStore({ file, onDamage: (damage) => found.push(damage.what) });
  expect(found).toEqual(['hold']);
  expect(await store.holds()).toEqual([{ ...first, name: 'walt', damaged: true }, second]);
});

it('records the event of a change with it, and none of a change that is refused', async () => {
  await using directory = await tempDir();
  const events: string[] = [];
  const record = ({ detail }: AuditEvent) => void events.push(detail);
  await using store = await openSqliteTokenStore({ file: join(directory.path, 'tokens.db'), record });
  const eventOf = (detail: string) => ({ kind: 'change' as const, at: 1, code: 'x', detail });
  const token: TokenRecord = {
    id: 'one',
    hash: 'aa',
    agent: 'ann',
    role: 'worker',
    permissions: [],
    createdAt: 1,
  };
  const child = { ...token, id: 'two', hash: 'bb', parentId: 'one' };
  const issuer = { id: 'one', isStored: true };
  expect(await store.add(child, issuer, eventOf('too early'))).toBe(false);
  await store.add(token, undefined, eventOf('one'));
  await expect(store.add(token, undefined, eventOf('again'))).rejects.toMatchObject({ code: 'store_failed' });
  await store.add(child, issuer, eventOf('two'));
  await store.remove('one', undefined, (removed) => eventOf(`removed ${removed.length}`));
  expect(await store.removeHold('h1', eventOf('no hold'))).toBe(false);
  expect(events).toEqual(['one', 'two', 'removed 2']);
});
