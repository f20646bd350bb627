import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JournalClaim } from '@signalbox/protocol';
import { entryOf, journalConformance, okEnd, startedCall } from '@signalbox/store/conformance';
import { openSqliteJournal, type SqliteJournalOptions } from '@signalbox/store/journal';
import { startChild, tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { watchSyncs } from '../support/durability/disk-as-synced.ts';

/** A journal's file, and its journal opened again and again. */
async function journalFile() {
  const directory = await tempDir();
  const file = join(directory.path, 'state', 'journal.db');
  const open = (options: Partial<SqliteJournalOptions> = {}) => openSqliteJournal({ file, ...options });
  return { file, open, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() };
}

journalConformance(
  'The journal on SQLite',
  async () => {
    const { open, ...place } = await journalFile();
    return {
      ...place,
      open: ({ clock, ...options } = {}) => open({ ...options, ...(clock && { monotonic: clock }) }),
    };
  },
  { agesWhileClosed: false },
);

const notWritten = (error: unknown) => expect.unreachable(String(error));

test('what was started is found again after a kill -9, and so is how it ended', async () => {
  await using t = await journalFile();
  await using child = await startChild(
    new URL('../support/orchestrator/journal-writer-main.ts', import.meta.url),
    { args: [t.file] },
  );
  expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
  await using journal = await t.open();
  expect(await journal.find({ agent: 'rosa', requestId: 'started' })).toEqual(entryOf('started'));
  expect(await journal.find({ agent: 'rosa', requestId: 'ended' })).toEqual({
    ...entryOf('ended'),
    end: okEnd,
  });
  expect(await journal.find({ agent: 'rosa', requestId: 'never' })).toBeUndefined();
});

test('starts of one turn are one commit and one sync, and a start without its neighbours is one too', async () => {
  await using t = await journalFile();
  await using journal = await t.open();
  using disk = watchSyncs([`${t.file}-wal`]);
  await Promise.all(Array.from({ length: 100 }, (_, i) => journal.start(startedCall(`r${i}`))));
  expect(disk.syncs).toBe(1);
  await journal.start(startedCall('alone'));
  expect(disk.syncs).toBe(2);
  expect(await journal.list({ limit: 1000 })).toHaveLength(101);
});

test('each subscription has a generation of its own, beside the one to which the inbox is bound', async () => {
  await using t = await journalFile();
  let bound: string[] = [];
  const seen = new Set<string>();
  for (let round = 0; round < 3; round++) {
    await using journal = await t.open();
    const { previous, next } = journal.claim('inbox', notWritten);
    expect(previous).toEqual(bound);
    expect(next).toMatch(/^[!-~]{1,64}$/);
    seen.add(next);
    journal.bound('inbox', next);
    bound = [next];
    expect(journal.claim('another inbox', notWritten).previous).not.toContain(next);
  }
  expect(seen.size).toBe(3);
});

test('generations whose answers were lost are claimed until one is bound, also by the next process', async () => {
  await using t = await journalFile();
  const claims: JournalClaim[] = [];
  for (let round = 0; round < 2; round++) {
    await using journal = await t.open();
    claims.push(journal.claim('inbox', notWritten), journal.claim('inbox', notWritten));
  }
  await using journal = await t.open();
  const [first, second, third] = claims.map(({ next }) => next);
  expect(claims[3]!.previous).toEqual([first, second, third]);
  journal.bound('inbox', second!);
  expect(journal.claim('inbox', notWritten).previous).toEqual([second, third, claims[3]!.next]);
});

test('however often answers are lost, the bound generation and the newest are claimed, and no more than may be', async () => {
  await using t = await journalFile();
  await using journal = await t.open();
  const bound = journal.claim('inbox', notWritten).next;
  journal.bound('inbox', bound);
  let last: JournalClaim | undefined;
  for (let round = 0; round < 40; round++) {
    const claim = journal.claim('inbox', notWritten);
    if (last) expect(claim.previous).toContain(last.next);
    last = claim;
  }
  expect(last?.previous[0]).toBe(bound);
  expect(last?.previous).toHaveLength(16);
});

test('a journal keeps its id, shares it with no other, and is private', async () => {
  await using t = await journalFile();
  await using other = await journalFile();
  const ids: string[] = [];
  for (const { open } of [t, t, other]) {
    await using journal = await open();
    ids.push(journal.id);
  }
  expect(ids[0]).toBe(ids[1]);
  expect(ids[2]).not.toBe(ids[0]);
  expect(ids[0]).toMatch(/^[!-~]{1,64}$/);
  expect(statSync(t.file).mode & 0o777).toBe(0o600);
  expect(statSync(join(t.file, '..')).mode & 0o777).toBe(0o700);
});

test('a journal that is in use is refused, and can be had when its holder has closed it', async () => {
  await using t = await journalFile();
  {
    await using _holder = await t.open();
    await expect(t.open()).rejects.toMatchObject({ code: 'journal_in_use' });
  }
  await using journal = await t.open();
  expect(journal.id).toMatch(/^j-/);
});

test('a file that is no journal, or one of another version, is refused by name', async () => {
  await using t = await journalFile();
  await (await t.open())[Symbol.asyncDispose]();
  for (const version of [1, 999]) {
    const db = new Database(t.file);
    db.pragma(`user_version = ${version}`);
    db.close();
    await expect(t.open()).rejects.toMatchObject({
      code: 'journal_other_version',
      message: expect.stringContaining(`${t.file} has version ${version} of the format`),
    });
  }
  writeFileSync(t.file, 'no database '.repeat(1_000));
  await expect(t.open()).rejects.toMatchObject({
    code: 'journal_corrupt',
    message: expect.stringContaining(t.file),
  });
});

/** Changes the bytes of a file wherever this text is. */
function scratch(file: string, text: string): void {
  const content = readFileSync(file);
  let changed = 0;
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + 1), changed++)
    content[at]! ^= 1;
  expect(changed).toBeGreaterThan(0);
  writeFileSync(file, content);
}

test('a damaged row tells only that its call was started, and to the broker the journal is another one then', async () => {
  await using t = await journalFile();
  const reports: string[] = [];
  const onDamage = (detail: string) => void reports.push(detail);
  const find = (requestId: string) => ({ agent: 'rosa', requestId });
  {
    await using journal = await t.open();
    journal.claim('inbox', () => expect.fail());
    for (const id of ['whole', 'scratched-reply', 'scratched-end']) await journal.start(startedCall(id));
    await journal.start(startedCall('scratched-start', { tool: 'scratched-tool' }));
    await journal.finish(find('whole'), okEnd);
    await journal.finish(find('scratched-reply'), { ...okEnd, reply: '{"result":"unreadable"}' });
    await journal.finish(find('scratched-start'), okEnd);
  }
  {
    await using journal = await t.open({ onDamage });
    expect(journal.claim('inbox', () => expect.fail()).previous).toHaveLength(1);
  }
  expect(reports).toEqual([]);
  scratch(t.file, 'unreadable');
  {
    await using journal = await t.open({ onDamage });
    expect(await journal.find(find('whole'))).toMatchObject({ end: okEnd });
    expect(await journal.find(find('scratched-reply'))).not.toHaveProperty('end');
  }
  expect(reports).toEqual([]);
  scratch(t.file, 'scratched-tool');
  {
    await using journal = await t.open({ onDamage });
    expect(await journal.find(find('scratched-start'))).not.toHaveProperty('end');
    expect(await journal.find(find('whole'))).toMatchObject({ end: okEnd });
    expect(journal.claim('inbox', () => expect.fail()).previous).toEqual([]);
  }
  expect(reports).toEqual([expect.stringContaining(`${t.file} is damaged (1 rows)`)]);
});

test('a list of generations that is no list claims none', async () => {
  await using t = await journalFile();
  {
    await using journal = await t.open();
    journal.claim('inbox', () => expect.fail());
    await journal.start(startedCall('written'));
  }
  const db = new Database(t.file);
  expect(db.prepare("UPDATE generation SET list = '5'").run().changes).toBe(1);
  db.close();
  await using journal = await t.open();
  expect(journal.claim('inbox', () => expect.fail()).previous).toEqual([]);
});

test('a journal of which the log is damaged in the middle is another one to the broker, a whole one is not', async () => {
  await using t = await journalFile();
  {
    await using child = await startChild(
      new URL('../support/orchestrator/journal-writer-main.ts', import.meta.url),
      { args: [t.file] },
    );
    await child.exited;
  }
  const log = readFileSync(`${t.file}-wal`);
  const whole = readFileSync(t.file);
  const reportsWith = async (content: Buffer): Promise<string[]> => {
    const reports: string[] = [];
    writeFileSync(t.file, whole);
    writeFileSync(`${t.file}-wal`, content);
    await using _journal = await t.open({ onDamage: (detail) => void reports.push(detail) });
    return reports;
  };
  expect(await reportsWith(log)).toEqual([]);
  const damaged = Buffer.from(log);
  // In the seventh of ten frames; behind them are those of the tables, which are in the file already.
  damaged[6.5 * 4120]! ^= 1;
  expect(await reportsWith(damaged)).toEqual([expect.stringContaining('the end of its log')]);
});

const MiB = 1024 * 1024;

test('the file gets smaller when its calls are deleted', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    let now = 0;
    await using t = await journalFile();
    await using journal = await t.open({ monotonic: () => now, limits: { ageMs: 1000 } });
    const end = { ...okEnd, reply: JSON.stringify('x'.repeat(MiB)) };
    const keys = Array.from({ length: 20 }, (_, n) => ({ agent: 'rosa', requestId: `r${n}` }));
    for (const key of keys) {
      await journal.start(startedCall(key.requestId));
      await journal.finish(key, end);
    }
    expect(statSync(t.file).size).toBeGreaterThan(12 * MiB);
    for (const key of keys) journal.settle(key, 'stored');
    await journal.start(startedCall('another'));
    now = 10_000;
    for (let minute = 0; minute < 20 && statSync(t.file).size > 8 * MiB; minute++) {
      vi.advanceTimersByTime(60_000);
      await nextTurn();
    }
    expect(statSync(t.file).size).toBeLessThan(8 * MiB);
    expect(await journal.list({ limit: 10 })).toMatchObject([{ requestId: 'another' }]);
  } finally {
    vi.useRealTimers();
  }
});
