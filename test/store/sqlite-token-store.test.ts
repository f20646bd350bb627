import { copyFileSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type HoldRecord, openSqliteTokenStore, type TokenRecord } from '@signalbox/store';
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
  isSession: true,
};

it('keeps tokens over a restart, in the order of their making, in a private file', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  {
    await using store = await openSqliteTokenStore({ file });
    expect(await store.all()).toEqual([]);
    await store.add(child);
    await store.add(plain);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  await using store = await openSqliteTokenStore({ file });
  expect(await store.all()).toEqual([plain, child]);
});

it('forgets a token once', async () => {
  await using directory = await tempDir();
  await using store = await openSqliteTokenStore({ file: join(directory.path, 'tokens.db') });
  await store.add(plain);
  await store.add(child);
  expect(await store.remove('one')).toBe(true);
  expect(await store.remove('one')).toBe(false);
  expect(await store.all()).toEqual([child]);
});

it('rejects a token whose id or hash is in use, and takes another', async () => {
  await using directory = await tempDir();
  await using store = await openSqliteTokenStore({ file: join(directory.path, 'tokens.db') });
  await store.add(plain);
  await expect(store.add({ ...child, id: 'one' })).rejects.toMatchObject({ code: 'store_failed' });
  await expect(store.add({ ...child, hash: 'aa' })).rejects.toMatchObject({ code: 'store_failed' });
  await store.add(child);
  expect(await store.all()).toEqual([plain, child]);
});

it('remembers agents that connected, each once and the newest 100,000, over a restart', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  {
    await using store = await openSqliteTokenStore({ file });
    expect(await store.agents()).toEqual([]);
    await store.addAgents(['ann', 'bob']);
    await store.addAgents(['bob', 'kim']);
  }
  await using store = await openSqliteTokenStore({ file });
  expect(await store.agents()).toEqual(['ann', 'bob', 'kim']);
  await store.addAgents(Array.from({ length: 99_999 }, (_, i) => `agent-${i}`));
  const agents = await store.agents();
  expect(agents).not.toContain('ann');
  expect(agents.slice(0, 2)).toEqual(['kim', 'agent-0']);
  expect(agents.length).toBeLessThanOrEqual(100_000);
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
  await store.remove('one');
  expect(await withoutLog(file)).toEqual([child]);
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
    expect(await store.remove('one')).toBe(true);
    expect(await store.all()).toEqual([child]);
    vi.advanceTimersByTime(1000);
    expect(await withoutLog(file)).toEqual([plain, child]);
    reader.exec('COMMIT');
    vi.advanceTimersByTime(1000);
    expect(await withoutLog(file)).toEqual([child]);
  } finally {
    reader.close();
    vi.useRealTimers();
  }
});

it('keeps holds over a restart, and says which one is damaged', async () => {
  await using directory = await tempDir();
  const file = join(directory.path, 'tokens.db');
  const by = { by: 'operator.kim', tokenId: 't1', cancelsRunning: true };
  const first: HoldRecord = { id: 'h1', on: 'agent', name: 'rosa', reason: 'why', createdAt: 1, ...by };
  const second: HoldRecord = { id: 'h2', on: 'all', name: '', reason: 'why', createdAt: 2, until: 3, ...by };
  {
    await using store = await openSqliteTokenStore({ file });
    await store.addHold(second);
    await store.addHold(first);
    await store.addHold({ ...first, id: 'h3' });
    expect(await store.removeHold('h3')).toBe(true);
    expect(await store.removeHold('h3')).toBe(false);
  }
  const db = new Database(file);
  db.exec("UPDATE hold SET name = 'walt' WHERE id = 'h1'");
  db.close();
  const found: unknown[] = [];
  await using store = await openSqliteTokenStore({ file, onDamage: (damage) => found.push(damage.what) });
  expect(found).toEqual(['hold']);
  expect(await store.holds()).toEqual([{ ...first, name: 'walt', damaged: true }, second]);
});
