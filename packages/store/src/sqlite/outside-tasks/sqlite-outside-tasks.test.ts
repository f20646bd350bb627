import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NewOutsideTask, OutsideTasks } from '../../outside-tasks/outside-tasks.ts';
import { copyDatabase } from '../backup/copy-database.ts';
import {
  openSqliteOutsideTasks,
  outsideFormat,
  resendRestoredTasks,
  verifyOutsideTasks,
} from './sqlite-outside-tasks.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-outside-'));
  file = join(folder, 'a2a.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

function task(id: string, more: Partial<NewOutsideTask> = {}): NewOutsideTask {
  const scope = { caller: 'ann', agent: 'rosa', tenant: '' };
  return {
    id,
    ...scope,
    context: 'c',
    hash: 'h',
    message: '{"m":1}',
    createdAt: 1,
    deadlineAt: 100,
    ...more,
  };
}

function idsOf(tasks: OutsideTasks, query: Partial<Parameters<OutsideTasks['list']>[0]> = {}): string[] {
  const scope = { caller: 'ann', agent: 'rosa', tenant: '' };
  return tasks.list({ ...scope, limit: 10, ...query }).tasks.map(({ id }) => id);
}

test('A task leaves no final state, and is there again after the file was closed.', async () => {
  let key: Buffer;
  {
    await using tasks = await openSqliteOutsideTasks(file);
    key = tasks.key;
    await tasks.add(task('one'));
    expect(tasks.find('one')).toMatchObject({ state: 'submitted', isSent: false, changedAt: 1 });
    tasks.sent('one');
    expect(tasks.change('one', { state: 'working', at: 2 })).toBe(true);
    expect(tasks.change('one', { state: 'completed', at: 3, result: '"done"' })).toBe(true);
    expect(tasks.change('one', { state: 'canceled', at: 4 })).toBe(false);
    await tasks.synced();
  }
  await using again = await openSqliteOutsideTasks(file);
  expect(again.key).toEqual(key);
  expect(again.find('one')).toEqual({
    ...task('one'),
    ...{ state: 'completed', isSent: true, changedAt: 3, reason: undefined, result: '"done"' },
  });
  expect(again.bytes).toBe(Buffer.byteLength('{"m":1}"done"'));
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('A list has the tasks of its scope only, the last changed first, in pages.', async () => {
  await using tasks = await openSqliteOutsideTasks(file);
  for (const [n, id] of ['a', 'b', 'c'].entries()) await tasks.add(task(id, { createdAt: n }));
  for (const other of [{ caller: 'ben' }, { agent: 'walt' }, { tenant: 't' }])
    await tasks.add(task(`other-${Object.keys(other)}`, other));
  tasks.change('a', { state: 'failed', at: 9, reason: 'why' });
  expect(idsOf(tasks)).toEqual(['a', 'c', 'b']);
  expect(idsOf(tasks, { after: { changedAt: 9, id: 'a' }, limit: 1 })).toEqual(['c']);
  expect(idsOf(tasks, { state: 'submitted' })).toEqual(['c', 'b']);
  expect(idsOf(tasks, { since: 5 })).toEqual(['a']);
  expect(idsOf(tasks, { context: 'other' })).toEqual([]);
  expect(tasks.unsent('ann')).toEqual(['b', 'other-agent', 'other-tenant', 'c']);
  tasks.sent('b');
  expect(tasks.unsent('ann')).toEqual(['other-agent', 'other-tenant', 'c']);
  expect(tasks.overdue('ann', 101)).toHaveLength(4);
  expect(tasks.overdue('ann', 100)).toEqual([]);
});

test('A page of long tasks ends early, and says that there are more.', async () => {
  await using tasks = await openSqliteOutsideTasks(file);
  const message = JSON.stringify('x'.repeat(3 * 1024 * 1024));
  for (const id of ['a', 'b', 'c']) await tasks.add(task(id, { message }));
  const query = { caller: 'ann', agent: 'rosa', tenant: '', limit: 3 };
  const { tasks: page, isMore, total } = tasks.list(query);
  expect([page.map(({ id }) => id), isMore, total]).toEqual([['c', 'b'], true, 3]);
  expect(tasks.list({ ...query, after: { changedAt: 1, id: 'b' } })).toMatchObject({
    isMore: false,
    total: 3,
  });
});

test('Usage follows what is added, answered and forgotten.', async () => {
  await using tasks = await openSqliteOutsideTasks(file);
  await tasks.add(task('one'));
  expect(tasks.usage('ann')).toEqual({ tasks: 1, bytes: 7 });
  await tasks.add(task('two'));
  tasks.change('two', { state: 'completed', at: 5, result: '"xy"' });
  expect(tasks.usage('ann')).toEqual({ tasks: 2, bytes: 18 });
  expect(tasks.forgetEnded(5)).toBe(0);
  expect(tasks.forgetEnded(6)).toBe(1);
  expect(tasks.find('two')).toBeUndefined();
  expect([tasks.usage('ann'), tasks.bytes]).toEqual([{ tasks: 1, bytes: 7 }, 7]);
  tasks.remove('one');
  expect([tasks.usage('ann'), tasks.bytes]).toEqual([{ tasks: 0, bytes: 0 }, 0]);
});

test('A copy of a file in use has its tasks, and a restored one sends the messages of open tasks again.', async () => {
  const copy = join(folder, 'copy.db');
  await using tasks = await openSqliteOutsideTasks(file);
  for (const id of ['open', 'ended']) {
    await tasks.add(task(id));
    tasks.change(id, { state: 'working', at: 2 });
  }
  tasks.change('ended', { state: 'completed', at: 3, result: '"done"' });
  await copyDatabase({ source: file, target: copy }, { signal: new AbortController().signal });
  expect(verifyOutsideTasks(copy)).toEqual({ tasks: 2, problems: [] });
  resendRestoredTasks(copy);
  await using restored = await openSqliteOutsideTasks(copy);
  expect(restored.key).toEqual(tasks.key);
  expect(restored.unsent('ann')).toEqual(['open']);
  expect([tasks.unsent('ann'), restored.find('ended')]).toEqual([[], tasks.find('ended')]);
});

test('One process has the file, and a file of another version is refused.', async () => {
  {
    await using _first = await openSqliteOutsideTasks(file);
    await expect(openSqliteOutsideTasks(file)).rejects.toMatchObject({ code: 'a2a_running' });
  }
  const db = new Database(file);
  db.pragma('user_version = 99');
  db.close();
  await expect(openSqliteOutsideTasks(file)).rejects.toMatchObject({ code: 'a2a_other_version' });
});

test('Tables that have changed have another version.', () => {
  const digest = createHash('sha256')
    .update(outsideFormat.schema.replace(/\s+/g, ' '))
    .digest('hex')
    .slice(0, 16);
  expect({ version: outsideFormat.version, digest }).toEqual({ version: 2, digest: '64fa8dfe2efc1200' });
});
