import fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WalSync } from '../wal-sync.ts';
import { GroupCommit } from './group-commit.ts';
import { openJournalDatabase } from './journal-database.ts';

/** Opens the commits of a database with one table, and collects their reports about the medium. */
async function openCommits() {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-commits-'));
  const file = join(directory, 'journal.db');
  const db = openJournalDatabase(file);
  db.exec('CREATE TABLE t (n)');
  const log = new WalSync(file);
  const commits = new GroupCommit(db, log, (thrown) => new Error(`refused: ${String(thrown)}`));
  let failure: Error | undefined;
  void commits.failed.then((error) => {
    failure = error;
  });
  return {
    db,
    commits,
    failure: () => failure,
    insert: (sync = true) => commits.write(() => db.exec('INSERT INTO t VALUES (1)'), { sync }),
    async [Symbol.asyncDispose]() {
      await log.close();
      db.close();
      await rm(directory, { recursive: true });
    },
  };
}

test('after three commits in a row that the medium refused nothing more is expected of it', async () => {
  await using t = await openCommits();
  const { db, commits, insert } = t;
  const refuse = async (times: number) => {
    db.pragma('query_only = ON');
    for (let i = 0; i < times; i++) await expect(insert()).rejects.toThrow('refused');
    db.pragma('query_only = OFF');
  };
  await refuse(2);
  await insert();
  await refuse(2);
  expect(t.failure()).toBeUndefined();
  await expect(commits.write(() => db.exec('no SQL'), { sync: true })).rejects.toThrow('syntax error');
  expect(t.failure()).toBeUndefined();
  await refuse(1);
  expect(t.failure()?.message).toContain('refused');
});

test('after a sync that failed nothing is confirmed any more, and those that wait for one learn why', async () => {
  await using t = await openCommits();
  const { fdatasync } = fs;
  const failing = (_: number, done: fs.NoParamCallback) => setImmediate(done, new Error('EIO: i/o error'));
  fs.fdatasync = Object.assign(failing, { __promisify__: fdatasync.__promisify__ });
  syncBuiltinESMExports();
  try {
    const both = [t.insert(true), t.insert(false)];
    await expect(both[0]).rejects.toThrow('EIO');
    await expect(both[1]).resolves.toBeUndefined();
  } finally {
    fs.fdatasync = fdatasync;
    syncBuiltinESMExports();
  }
  expect(t.failure()?.message).toContain('EIO');
  await expect(t.insert(true)).rejects.toThrow('EIO');
  await expect(t.insert(false)).rejects.toThrow('EIO');
  expect(() => t.commits.commitNow([], { sync: false })).toThrow('EIO');
});
