import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
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
  await first.set('t1', { session: 's1', denials: [] });
  await first.set('t2', { session: 's2', denials: [] });
  await first.set('t2', { session: undefined, denials: [] });
  const next = await openThreadSessions(path);
  expect(next.get('t1').session).toBe('s1');
  expect(next.get('t2').session).toBeUndefined();
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
  await sessions.set('t0', { session: 's', denials: [] });
  await sessions.set('new', { session: 's', denials: [] });
  expect(sessions.get('t1').session).toBeUndefined();
  expect(sessions.get('t0').session).toBe('s');
  expect(JSON.parse(await readFile(path, 'utf8')).sessions).toHaveLength(maxThreads);
});

test('A file that is no JSON counts as none, and is replaced.', async () => {
  const directory = await tempDir();
  const path = join(directory, 'rosa.json');
  await writeFile(path, '{"sessions":[{"thre');
  const sessions = await openThreadSessions(path);
  expect(sessions.get('t1').session).toBeUndefined();
  await sessions.set('t1', { session: 's1', denials: [] });
  expect((await openThreadSessions(path)).get('t1').session).toBe('s1');
});

test('A link, a huge file and a session that would be an option count as no file.', async () => {
  const directory = await tempDir();
  const [link, huge, option] = ['link', 'huge', 'option'].map((name) => join(directory, name));
  const fileOf = (session: string): string => JSON.stringify({ sessions: [{ thread: 't1', session }] });
  const good = join(directory, 'good');
  await writeFile(good, fileOf('s1'));
  await writeFile(huge!, fileOf('s1') + ' '.repeat(2 * 1024 * 1024));
  await writeFile(option!, fileOf('--dangerous'));
  await symlink(good, link!);
  expect((await openThreadSessions(good)).get('t1').session).toBe('s1');
  for (const path of [link, huge, option]) {
    const sessions = await openThreadSessions(path!);
    expect([path, sessions.get('t1').session]).toEqual([path, undefined]);
    await sessions.set('t1', { session: 's2', denials: [] });
    expect((await openThreadSessions(path!)).get('t1').session).toBe('s2');
  }
  expect(JSON.parse(await readFile(good, 'utf8')).sessions).toEqual([{ thread: 't1', session: 's1' }]);
});

test('Denials are remembered beside the session until the next turn, of the newest threads, and within bounds.', async () => {
  const path = join(await tempDir(), 'rosa.json');
  const first = await openThreadSessions(path);
  for (let at = 0; at <= 50; at++) await first.set(`t${at}`, { session: undefined, denials: ['no'] });
  await first.set('s', { session: 's1', denials: Array(9).fill('x'.repeat(501)) });
  const next = await openThreadSessions(path);
  expect(next.get('t50').denials).toEqual(['no']);
  expect(next.get('t1').denials).toEqual([]);
  expect(next.get('s')).toEqual({ session: 's1', denials: Array(8).fill('x'.repeat(500)) });
  await next.set('s', { session: 's1', denials: [] });
  expect((await openThreadSessions(path)).get('s')).toEqual({ session: 's1', denials: [] });
});
