import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { maxThreads, openThreadSessions } from './thread-sessions.ts';

async function tempDir(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'signalbox-test-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('A session is remembered by the next process, in a file that only this user can read.', async () => {
  const directory = await tempDir();
  const path = join(directory, 'deep', 'rosa.json');
  const first = await openThreadSessions(path);
  await first.set('t1', 's1');
  await first.set('t2', 's2');
  await first.set('t2', undefined);
  const next = await openThreadSessions(path);
  expect(next.get('t1')).toBe('s1');
  expect(next.get('t2')).toBeUndefined();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('Of more threads than are kept, the one without a turn for the longest time is forgotten.', async () => {
  const directory = await tempDir();
  const path = join(directory, 'rosa.json');
  const entries = Array.from({ length: maxThreads }, (_, at) => ({
    thread: `t${at}`,
    session: 's',
  }));
  await writeFile(path, JSON.stringify({ sessions: entries }));
  const sessions = await openThreadSessions(path);
  await sessions.set('t0', 's');
  await sessions.set('new', 's');
  expect(sessions.get('t1')).toBeUndefined();
  expect(sessions.get('t0')).toBe('s');
  expect(JSON.parse(await readFile(path, 'utf8')).sessions).toHaveLength(maxThreads);
});

test('A file that is no JSON counts as none, and is replaced.', async () => {
  const directory = await tempDir();
  const path = join(directory, 'rosa.json');
  await writeFile(path, '{"sessions":[{"thre');
  const sessions = await openThreadSessions(path);
  expect(sessions.get('t1')).toBeUndefined();
  await sessions.set('t1', 's1');
  expect((await openThreadSessions(path)).get('t1')).toBe('s1');
});
