import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { GroupCommit } from './group-commit.ts';

test('after three commits in a row that the medium refused nothing more is expected of it', async () => {
  const db = new Database(':memory:');
  db.exec('CREATE TABLE t (n)');
  const commits = new GroupCommit(db, (thrown) => new Error(`refused: ${String(thrown)}`));
  let failure: Error | undefined;
  void commits.failed.then((error) => {
    failure = error;
  });
  const insert = () => commits.write(() => db.exec('INSERT INTO t VALUES (1)'), { sync: true });
  const refuse = async (times: number) => {
    db.pragma('query_only = ON');
    for (let i = 0; i < times; i++) await expect(insert()).rejects.toThrow('refused');
    db.pragma('query_only = OFF');
  };
  await refuse(2);
  await insert();
  await refuse(2);
  expect(failure).toBeUndefined();
  await expect(commits.write(() => db.exec('no SQL'), { sync: true })).rejects.toThrow('syntax error');
  expect(failure).toBeUndefined();
  await refuse(1);
  expect(failure?.message).toContain('refused');
  db.close();
});
