import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { expect, it } from 'vitest';
import { steadyTime } from '../../expiry-time.ts';
import type { InboxStore } from '../../inbox-store.ts';
import type { NewMessage } from '../../message.ts';
import { openDatabase } from '../database.ts';
import { inboxSchema } from './inbox-schema.ts';
import { SqliteInboxStore } from './inbox-store.ts';

const full = 'refuses messages when the disk is full, goes on settling, and stores again when there is room';

// First all of them are in the memtable, then each one is in a segment at once.
it.each([2000, 2])(`${full}, with %d messages in the memtable`, async (memtableMessages) => {
  using small = smallDisk(memtableMessages);
  const { store, setPages } = small;
  const [first, ...rest] = await append(store, ['a', 'b', 'c']);
  setPages(0);
  expect(await append(store, ['d', 'e'])).toEqual([{ result: 'storage_full' }, { result: 'storage_full' }]);
  expect(await store.prove()).toBe('full');
  expect(await store.stats('inbox')).toMatchObject({ pending: 3, bytes: 3 * size });
  expect(await store.read('inbox', 0, 9, 1e6)).toMatchObject(['a', 'b', 'c'].map(message));
  const seq = first?.result === 'stored' ? first.seq : 0;
  const mixed = {
    messages: [message('d')],
    settlements: [{ inbox: 'inbox', seq, outcome: 'acked' as const }],
  };
  expect(await store.commit({ ...mixed, attempts: [] })).toEqual([{ result: 'storage_full' }]);
  expect(await store.find('inbox', 'ann', 'a')).toMatchObject({ outcome: 'acked' });
  expect(await store.find('inbox', 'ann', 'd')).toBeUndefined();
  expect(await store.stats('inbox')).toMatchObject({ pending: 2, bytes: 2 * size });
  setPages(1000);
  expect(await append(store, ['d'])).toEqual([{ result: 'storage_full' }]);
  await store.sweep(steadyTime(1));
  expect(await store.prove()).toBe('works');
  const [later] = await append(store, ['d']);
  const seqs = [first, ...rest, later].map((one) => (one?.result === 'stored' ? one.seq : 0));
  expect(new Set(seqs).size).toBe(4);
  expect(await store.read('inbox', 0, 9, 1e6)).toMatchObject(['b', 'c', 'd'].map(message));
});

it('rejects a commit of settlements that finds no room, and changes nothing', async () => {
  using small = smallDisk();
  const { store, setPages } = small;
  const [first] = await append(store, ['a']);
  setPages(0);
  const seq = first?.result === 'stored' ? first.seq : 0;
  const settlements = [{ inbox: 'inbox', seq, outcome: 'dead' as const }];
  const settling = store.commit({ messages: [], settlements, attempts: [] });
  await expect(settling).rejects.toMatchObject({ code: 'store_full' });
  expect(await store.stats('inbox')).toMatchObject({ pending: 1, bytes: size });
  setPages(1000);
  await store.commit({ messages: [], settlements, attempts: [] });
  expect(await store.find('inbox', 'ann', 'a')).toMatchObject({ outcome: 'dead' });
});

it('has failed for good when the medium refused three changes in a row, and not before', async () => {
  using small = smallDisk();
  const { store, setReadOnly } = small;
  setReadOnly(true);
  await expect(store.prove()).rejects.toMatchObject({ code: 'store_unwritable', isFinal: false });
  await expect(append(store, ['a'])).rejects.toMatchObject({ isFinal: false });
  setReadOnly(false);
  expect(await append(store, ['a'])).toMatchObject([{ result: 'stored' }]);
  setReadOnly(true);
  await expect(append(store, ['b'])).rejects.toMatchObject({ isFinal: false });
  // Housekeeping tries, too, so that a broken medium is noticed although nobody sends.
  await expect(store.sweep(steadyTime(1))).rejects.toMatchObject({ isFinal: false });
  await expect(store.sweep(steadyTime(1))).rejects.toMatchObject({ isFinal: true });
  setReadOnly(false);
  await expect(append(store, ['b'])).rejects.toMatchObject({
    isFinal: true,
    message: expect.stringContaining('refused 3 writes in a row'),
  });
  expect(await store.read('inbox', 0, 9, 1e6)).toMatchObject([message('a')]);
});

const size = 100_000;

/** Opens a store whose file may grow by the pages that it is given, in place of a full disk. */
function smallDisk(
  memtableMessages = 2000,
): Disposable & { store: InboxStore; setPages(more: number): void; setReadOnly(isReadOnly: boolean): void } {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-disk-full-'));
  const file = join(directory, 'messages.db');
  let database: Database | undefined;
  const store = openDatabase({ file, synchronous: 'normal', schema: inboxSchema }, (db) => {
    database = db;
    return new SqliteInboxStore(db, { file, durability: 'process', memtableMessages });
  });
  return {
    store,
    setPages(more) {
      const used = database?.pragma('page_count', { simple: true }) as number;
      database?.pragma(`max_page_count = ${used + more}`);
    },
    setReadOnly(isReadOnly) {
      database?.pragma(`query_only = ${isReadOnly ? 'ON' : 'OFF'}`);
    },
    [Symbol.dispose]() {
      database?.close();
      rmSync(directory, { recursive: true });
    },
  };
}

function message(id: string): NewMessage {
  const sender = { sender: 'ann', senderAddress: 'ann', senderRole: 'worker' };
  return { inbox: 'inbox', id, ...sender, kind: 'note', createdAt: 1, expiresAt: 2, body: 'x'.repeat(size) };
}

function append(store: InboxStore, ids: string[]) {
  return store.commit({ messages: ids.map(message), settlements: [], attempts: [] });
}
