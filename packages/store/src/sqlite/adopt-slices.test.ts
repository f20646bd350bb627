import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { expect, it } from 'vitest';
import { append, commit, message, seqOf } from '../conformance/store-under-test.ts';
import type { InboxStore } from '../inbox-store.ts';
import { openDatabase } from './database.ts';
import { inboxMigrations } from './inbox-schema.ts';
import { SqliteInboxStore } from './inbox-store.ts';

const inFirst = 1100;
const inSecond = 100;
const all = inFirst + inSecond;
const waiting = 20;
const startedAt = 1_800_000_000_000;

it('takes over what a version before kept of settled messages, wherever that was cut off', async () => {
  using directory = scratch();
  const file = directory.file('old.db');
  writeOld(file);
  const opened = open(file);
  try {
    await expectAll(opened.store);
    expect(tablesOf(opened.db)).toEqual(['settled_content', 'settled_page', 'slice']);
    expect(opened.db.prepare('SELECT * FROM slice').all()).toEqual([]);
    const log = readFileSync(`${file}-wal`);
    for (let part = 0; part < 3; part++) {
      const copy = directory.file(`copy-${part}.db`);
      copyFileSync(file, copy);
      writeFileSync(`${copy}-wal`, log.subarray(0, (log.length * part) / 3));
      const again = open(copy);
      try {
        await expectAll(again.store);
        expect(pagesOf(again.db)).toEqual(pagesOf(opened.db));
      } finally {
        again.db.close();
      }
    }
  } finally {
    opened.db.close();
  }
});

it('takes them over once, and forgets them by their age', async () => {
  using directory = scratch();
  const file = directory.file('old.db');
  writeOld(file);
  const first = open(file);
  const pages = pagesOf(first.db);
  first.db.close();
  const { db, store } = open(file);
  try {
    expect(pagesOf(db)).toEqual(pages);
    await expectAll(store);
    const appended = await append(store, [message({ id: 'new', inbox: 'inbox', createdAt: startedAt })]);
    await commit(store, { settlements: [{ inbox: 'inbox', seq: seqOf(appended[0]), outcome: 'acked' }] });
    await store.sweep(startedAt + 24 * 60 * 60 * 1000 + inFirst);
    expect(await store.find('inbox', 'ann', idOf(0))).toBeUndefined();
    expect(await store.find('inbox', 'ann', idOf(inFirst))).toMatchObject({ outcome: 'acked' });
    expect(await store.find('inbox', 'ann', 'new')).toMatchObject({ outcome: 'acked' });
  } finally {
    db.close();
  }
});

/** Settled ones and those that wait, as they were before. */
async function expectAll(store: InboxStore): Promise<void> {
  const sample = Array.from({ length: all / 30 }, (_, i) => message({ id: idOf(30 * i) }));
  const unknown = await Promise.all(sample.map(({ id }) => store.find('inbox', 'ann', `${id}+`)));
  expect(new Set(unknown)).toEqual(new Set([undefined]));
  const repeats = await append(store, sample);
  expect(new Set(repeats.map(({ result }) => result))).toEqual(new Set(['duplicate']));
  expect(await store.find('inbox', 'ann', idOf(5))).toMatchObject({ seq: 6, outcome: 'acked' });
  // It died, was tried again and was acked then.
  expect(await store.find('inbox', 'ann', 'twice')).toMatchObject({ seq: all + 2, outcome: 'acked' });
  expect(await store.stats('inbox')).toEqual({
    pending: waiting,
    bytes: 4 * waiting,
    headSeq: 2000 + waiting,
  });
  const read = await store.read('inbox', 0, 100, 1e6);
  expect(read.map(({ id, body }) => `${id} ${body}`)).toEqual(read.map((_, i) => `waiting-${i} body`));
  expect(read).toHaveLength(waiting);
  const { entries } = await store.history({ since: 0, limit: 10_000 });
  expect(entries).toHaveLength(all + 2 + waiting);
  expect(entries[7]).toEqual({
    seq: 8,
    inbox: 'inbox',
    id: idOf(7),
    sender: 'ann',
    kind: 'note',
    correlationId: 'c7',
    createdAt: 7,
    size: 3,
    settled: { at: startedAt + 7, outcome: 'expired', reason: 'late' },
  });
}

/** Two closed slices and an open one, as the first two versions of the schema had them. */
function writeOld(file: string): void {
  openDatabase({ file, synchronous: 'normal', migrations: inboxMigrations.slice(0, 2) }, (db) => {
    db.pragma('synchronous = off');
    const write = db.transaction(() => {
      for (const number of [1, 2, 3]) {
        db.exec(
          `CREATE TABLE settled_${number} (id TEXT NOT NULL, inbox TEXT NOT NULL, sender TEXT NOT NULL,
            sender_address TEXT NOT NULL, kind TEXT NOT NULL, correlation_id TEXT, seq INTEGER NOT NULL,
            size INTEGER NOT NULL, created_at INTEGER NOT NULL, settled_at INTEGER NOT NULL, outcome TEXT NOT NULL,
            reason TEXT, PRIMARY KEY (id, inbox, sender)) WITHOUT ROWID`,
        );
        db.exec(
          `INSERT INTO slice VALUES (${number}, ${startedAt}, ${number < 3 ? startedAt : 'NULL'}, 1000)`,
        );
      }
      const [first, second] = [1, 2].map((number) =>
        db.prepare(
          `INSERT INTO settled_${number} VALUES (?, 'inbox', 'ann', 'ann', 'note', ?, ?, 3, ?, ?, ?, ?)`,
        ),
      );
      for (let i = 0; i < all; i++) {
        const settledAt = i < inFirst ? startedAt + i : startedAt + 60 * 60 * 1000;
        const ending = i % 7 === 0 && i > 0 ? ['expired', 'late'] : ['acked', null];
        const slice = i < inFirst ? first : second;
        slice!.run(idOf(i), `c${i}`, i + 1, i, settledAt, ...ending);
      }
      first!.run('twice', null, all + 1, all, startedAt + 1, 'dead', 'tried five times');
      second!.run('twice', null, all + 2, all + 1, startedAt + 2, 'acked', null);
      const unsettled = db.prepare(
        `INSERT INTO message VALUES (?, 'inbox', ?, 'ann', 'ann', 'worker', 'note', NULL, NULL, ?, 9e15, 0, 4, 'body', NULL)`,
      );
      for (let i = 0; i < waiting; i++) unsettled.run(2001 + i, `waiting-${i}`, 2001 + i);
      db.exec(`UPDATE meta SET value = 10000 WHERE key = 'seq_reserved'`);
    });
    write();
    db.close();
  });
}

/** In no order. */
function idOf(i: number): string {
  return (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(36);
}

function open(file: string): { db: Database; store: InboxStore } {
  return openDatabase({ file, synchronous: 'normal', migrations: inboxMigrations }, (db) => {
    db.pragma('synchronous = off');
    const options = { durability: 'process', reserveBytes: 0, now: () => startedAt } as const;
    return { db, store: new SqliteInboxStore(db, { file, ...options }) };
  });
}

function tablesOf(db: Database): unknown[] {
  return db
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 's[el]*' ORDER BY name`)
    .pluck()
    .all();
}

function pagesOf(db: Database): unknown[] {
  return db.prepare('SELECT * FROM settled_page JOIN settled_content USING (number)').all();
}

function scratch(): Disposable & { file(name: string): string } {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-slices-'));
  return {
    file: (name) => join(directory, name),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
