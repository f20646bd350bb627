import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { expect, it } from 'vitest';
import { finishCopy } from './backup/copied-file.ts';
import { closeDatabase, logBytes, openDatabase } from './database.ts';
import { FileShrinker } from './file-shrinker.ts';

const MiB = 1024 * 1024;

/** A database of 500-byte rows in a folder of its own. */
function openRows() {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-shrink-'));
  const file = join(folder, 'rows.db');
  const schema = 'CREATE TABLE row (number INTEGER PRIMARY KEY, content BLOB NOT NULL)';
  return openDatabase({ file, synchronous: 'normal', schema }, (db) => ({
    db,
    file,
    shrinker: new FileShrinker(db, file, () => 0),
    add: (count: number) =>
      db
        .prepare(
          `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
           INSERT INTO row (content) SELECT randomblob(500) FROM n`,
        )
        .run(count),
    /** Keeps one row of many. */
    drop: (oneOf: number) => db.prepare('DELETE FROM row WHERE number % ? <> 0').run(oneOf),
    [Symbol.dispose]: () => {
      closeDatabase(db);
      rmSync(folder, { recursive: true });
    },
  }));
}

const count = (db: Database, what: string): number => db.pragma(what, { simple: true }) as number;

it('a file whose content is gone gets smaller, and keeps some free pages', () => {
  using rows = openRows();
  rows.add(60_000);
  const before = statSync(rows.file).size + logBytes(rows.file);
  rows.drop(600);
  const kept = rows.db.prepare('SELECT * FROM row').all();
  rows.shrinker.step();
  while (count(rows.db, 'freelist_count') > 1024 + 400) rows.shrinker.step();
  rows.shrinker.step();
  rows.shrinker.step();
  expect(before).toBeGreaterThan(30 * MiB);
  expect(statSync(rows.file).size).toBeLessThan(8 * MiB);
  expect(statSync(rows.file).size).toBeGreaterThan(3 * MiB);
  expect(logBytes(rows.file)).toBe(0);
  expect(rows.db.prepare('SELECT * FROM row').all()).toEqual(kept);
  expect(count(rows.db, 'integrity_check')).toBe('ok');
});

it('a file with little free room, or less than a quarter of it, keeps its size', () => {
  using rows = openRows();
  rows.add(10_000);
  rows.drop(100);
  const pages = count(rows.db, 'page_count');
  for (let n = 0; n < 5; n++) rows.shrinker.step();
  expect(count(rows.db, 'page_count')).toBe(pages);
  rows.add(100_000);
  rows.db.exec('DELETE FROM row WHERE number % 100 < 20 AND number / 100 % 6 = 0');
  const more = count(rows.db, 'page_count');
  for (let n = 0; n < 5; n++) rows.shrinker.step();
  expect(count(rows.db, 'page_count')).toBe(more);
});

it('a step between changes moves few pages, and one after a quiet second moves pages for a few milliseconds', () => {
  using rows = openRows();
  let now = 0;
  // Each look at the clock is a millisecond later.
  const shrinker = new FileShrinker(rows.db, rows.file, () => now++);
  rows.add(60_000);
  rows.drop(600);
  const moved = (): number => {
    const before = count(rows.db, 'page_count');
    expect(shrinker.step()).toBe(true);
    return before - count(rows.db, 'page_count');
  };
  expect(moved()).toBeLessThan(64 + 2);
  rows.add(1);
  expect(moved()).toBeLessThan(64 + 2);
  expect(moved()).toBeGreaterThanOrEqual(8 * 64);
});

it('a copy has no free pages, and a copy of a file that cannot shrink is left as it is', async () => {
  using rows = openRows();
  rows.add(20_000);
  rows.drop(600);
  const target = `${rows.file}.copy`;
  await rows.db.backup(target);
  await finishCopy(target);
  expect(statSync(target).size).toBeLessThan(MiB / 4);
  rows.db.exec('PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM');
  rows.add(20_000);
  rows.drop(600);
  await rows.db.backup(target);
  await finishCopy(target);
  expect(statSync(target).size).toBeGreaterThan(8 * MiB);
});
