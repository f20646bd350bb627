import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Journal,
  openSqliteJournal,
  type SqliteJournalOptions,
  type StartedCall,
} from '@signalbox/orchestrator';
import type { JournalClaim } from '@signalbox/protocol';
import { startChild, tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';

const hour = 3_600_000;
const inbox = 'b-1 orchestrator';

/** A journal's file, and its journal opened again and again. */
async function journalFile() {
  const directory = await tempDir();
  const file = join(directory.path, 'state', 'journal.db');
  const open = (options: Partial<SqliteJournalOptions> = {}) => openSqliteJournal({ file, ...options });
  return { file, open, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() };
}

const call = (requestId: string, more: Partial<StartedCall> = {}): StartedCall => ({
  agent: 'rosa',
  requestId,
  role: 'worker',
  tool: 'mcp_counter__count',
  server: 'counter',
  receivedAt: 100,
  startedAt: 200,
  inbox,
  lifetimeMs: 10 * hour,
  ...more,
});

/** The call as lists tell of it. */
function listed(requestId: string) {
  const { inbox: _, lifetimeMs: __, ...told } = call(requestId);
  return { ...told, wasStarted: true, isSettled: false };
}

/** The entry that the journal has of a call. */
function entry(requestId: string) {
  return { ...listed(requestId), isKept: false };
}

const end = { outcome: 'ok', finishedAt: 300, reply: '{"result":{}}' } as const;

test('what was started is found again after a kill -9, and so is how it ended', async () => {
  await using t = await journalFile();
  await using child = await startChild(
    new URL('../support/orchestrator/journal-writer-main.ts', import.meta.url),
    { args: [t.file] },
  );
  expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
  await using journal = await t.open();
  expect(await journal.find({ agent: 'rosa', requestId: 'started' })).toEqual(entry('started'));
  expect(await journal.find({ agent: 'rosa', requestId: 'ended' })).toEqual({ ...entry('ended'), end });
  expect(await journal.find({ agent: 'rosa', requestId: 'never' })).toBeUndefined();
});

test('calls are told apart by agent and request, and come newest first', async () => {
  await using t = await journalFile();
  await using journal = await t.open();
  await journal.start(call('one', { receivedAt: 1 }));
  await journal.start(call('one', { agent: 'walt', receivedAt: 3, thread: 'build-7' }));
  await journal.start(call('two', { receivedAt: 2 }));
  await journal.finish({ agent: 'walt', requestId: 'one' }, end);
  expect(await journal.find({ agent: 'rosa', requestId: 'one' })).not.toHaveProperty('end');
  expect(await journal.find({ agent: 'walt', requestId: 'one' })).toMatchObject({ thread: 'build-7' });
  const names = (calls: Pick<StartedCall, 'agent' | 'requestId'>[]) =>
    calls.map(({ agent, requestId }) => `${agent} ${requestId}`);
  expect(names(await journal.list({ limit: 10 }))).toEqual(['walt one', 'rosa two', 'rosa one']);
  expect(names(await journal.list({ since: 2, limit: 1 }))).toEqual(['walt one']);
});

test('an agent’s own calls are its last 50 and those whose replies are kept, newest first, also after a restart; a role’s own are found behind those that it may not see', async () => {
  await using t = await journalFile();
  const ids = Array.from({ length: 130 }, (_, n) => `r${n}`);
  const check = async (journal: Journal) => {
    const own = (await journal.listOf('rosa', { limit: 100 })).map(({ requestId }) => requestId);
    expect(own).toEqual([...ids.slice(-50).reverse(), 'kept']);
    const newest = await journal.listOf('rosa', { since: 129, limit: 1 });
    expect(newest).toEqual([{ ...listed('r129'), receivedAt: 129 }]);
    const isListed = ({ role }: { role: string }) => role === 'reader';
    expect(await journal.listOf('rosa', { limit: 1, isListed })).toMatchObject([{ requestId: 'kept' }]);
    expect(await journal.listOf('walt', { limit: 100 })).toMatchObject([{ agent: 'walt' }]);
    expect(await journal.listOf('nobody', { limit: 100 })).toEqual([]);
  };
  {
    await using journal = await t.open();
    await journal.record(call('kept', { receivedAt: 0, role: 'reader' }), end);
    journal.settle({ agent: 'rosa', requestId: 'kept' }, 'waits');
    await journal.start(call('r0', { agent: 'walt' }));
    await Promise.all(ids.map((id, n) => journal.start(call(id, { receivedAt: n }))));
    await check(journal);
  }
  await using journal = await t.open();
  await check(journal);
});

test('starts of one turn are one commit, and a start without its neighbours is one too', async () => {
  await using t = await journalFile();
  await using journal = await t.open();
  let done = 0;
  for (let i = 0; i < 100; i++) {
    void journal.start(call(`r${i}`)).then(() => {
      done++;
    });
  }
  await nextTurn();
  await nextTurn();
  expect(done).toBe(100);
  await journal.start(call('alone'));
  expect(await journal.list({ limit: 1000 })).toHaveLength(101);
});

test('the first end counts, and one without a start is nothing', async () => {
  await using t = await journalFile();
  await using journal = await t.open();
  const key = { agent: 'rosa', requestId: 'r' };
  await journal.finish(key, end);
  expect(await journal.find(key)).toBeUndefined();
  await journal.start(call('r'));
  await journal.finish(key, end);
  await journal.finish(key, { outcome: 'internal', finishedAt: 999, reply: '{}' });
  expect(await journal.find(key)).toEqual({ ...entry('r'), end });
});

test('a stored reply is dropped; one that is late, waits, was refused or that nobody knows of is kept', async () => {
  await using t = await journalFile();
  const ways = ['stored', 'late', 'waits', 'refused', 'found'] as const;
  {
    await using journal = await t.open();
    for (const requestId of ways) {
      const key = { agent: 'rosa', requestId };
      await journal.start(call(requestId));
      await journal.finish(key, { ...end, isLate: requestId === 'late' });
      journal.settle(key, requestId === 'late' ? 'stored' : requestId);
    }
  }
  await using journal = await t.open();
  const found = await Promise.all(ways.map((requestId) => journal.find({ agent: 'rosa', requestId })));
  const kept = found.map((entry) => entry?.end?.reply !== undefined);
  expect(kept).toEqual([false, true, true, true, true]);
  expect(await journal.find({ agent: 'rosa', requestId: 'stored' })).toHaveProperty('end.outcome', 'ok');
  const listed = await journal.listOf('rosa', { limit: 9 });
  const isKept = new Map(listed.map((one) => [one.requestId, one.end?.isReplyKept]));
  expect(ways.map((requestId) => isKept.get(requestId))).toEqual(kept);
});

test('a call that is safe to repeat is written with its end, and never over one that was started', async () => {
  await using t = await journalFile();
  await using journal = await t.open();
  const { startedAt: _, ...safe } = call('safe', { tool: 'mcp_counter__echo' });
  await journal.record(safe, end);
  const { startedAt: __, ...written } = entry('safe');
  expect(await journal.find({ agent: 'rosa', requestId: 'safe' })).toEqual({
    ...written,
    tool: 'mcp_counter__echo',
    end,
  });
  await journal.start(call('started'));
  await journal.record(call('started'), end);
  expect(await journal.find({ agent: 'rosa', requestId: 'started' })).toEqual(entry('started'));
});

test('a call whose reply is to be kept has an entry that is no start, outlives a kill of the process, and keeps its reply', async () => {
  await using t = await journalFile();
  const ids = ['safe', 'unsafe', 'ended'];
  const find = (journal: Journal) =>
    Promise.all(ids.map((requestId) => journal.find({ agent: 'rosa', requestId })));
  {
    await using journal = await t.open();
    await journal.start(call('ended'));
    await journal.finish({ agent: 'rosa', requestId: 'ended' }, end);
    for (const requestId of ids) await journal.keep(call(requestId));
    await journal.start(call('unsafe'));
  }
  await using journal = await t.open();
  expect(await find(journal)).toMatchObject([
    { wasStarted: false, isKept: true },
    { wasStarted: true, isKept: true, startedAt: 200 },
    { wasStarted: true, isKept: false },
  ]);
  for (const requestId of ids) {
    await journal.finish({ agent: 'rosa', requestId }, end);
    journal.settle({ agent: 'rosa', requestId }, 'stored');
  }
  await vi.waitFor(async () => expect((await find(journal)).every((found) => found?.isSettled)).toBe(true));
  const replies = (await find(journal)).map((found) => found?.end?.reply);
  expect(replies).toEqual([end.reply, end.reply, undefined]);
});

test('what is settled when the journal closes is settled when it opens again', async () => {
  await using t = await journalFile();
  const key = { agent: 'rosa', requestId: 'r' };
  {
    await using journal = await t.open();
    await journal.start(call('r'));
    await journal.finish(key, end);
    journal.settle(key, 'stored');
  }
  await using journal = await t.open();
  expect((await journal.find(key))?.end).toEqual({ outcome: 'ok', finishedAt: 300 });
});

test('a settled call is forgotten after its time, counted while the journal is open; one that is not settled never is', async () => {
  await using t = await journalFile();
  let passed = 0;
  const options = { monotonic: () => passed, pruneEveryMs: 2, limits: { ageMs: hour } };
  const key = (requestId: string) => ({ agent: 'rosa', requestId });
  {
    await using journal = await t.open(options);
    for (const id of ['early', 'late', 'open']) await journal.start(call(id, { lifetimeMs: 1 }));
    journal.settle(key('early'), 'stored');
    passed += hour / 2;
    journal.settle(key('late'), 'found');
  }
  passed += 24 * hour;
  await using journal = await t.open(options);
  passed += hour / 2;
  await vi.waitFor(async () => expect(await journal.find(key('early'))).toBeUndefined());
  expect(await journal.find(key('late'))).toBeDefined();
  passed += 100 * hour;
  await vi.waitFor(async () => expect(await journal.find(key('late'))).toBeUndefined());
  expect(await journal.find(key('open'))).toEqual(entry('open'));
});

test('a call is in doubt when its lifetime is over and nothing says that it is settled, unless it runs', async () => {
  await using t = await journalFile();
  let passed = 0;
  const monotonic = () => passed;
  {
    await using journal = await t.open({ monotonic });
    await journal.start(call('long', { lifetimeMs: hour + 1 }));
    for (const id of ['a', 'settled', 'b']) await journal.start(call(id, { lifetimeMs: hour }));
    await journal.start(call('other', { lifetimeMs: hour, inbox: 'b-2 orchestrator' }));
    journal.settle({ agent: 'rosa', requestId: 'settled' }, 'refused');
    passed += hour / 2;
  }
  await using journal = await t.open({ monotonic });
  const inDoubt = async (after = 0, limit = 9) =>
    (await journal.inDoubt(inbox, after, limit)).map(({ key }) => key.requestId);
  await journal.start(call('running', { lifetimeMs: 1 }));
  await journal.start(call('ended', { lifetimeMs: 1 }));
  await journal.finish({ agent: 'rosa', requestId: 'ended' }, end);
  passed += hour / 2 - 1;
  expect(await inDoubt()).toEqual(['ended']);
  passed += 1;
  expect(await inDoubt()).toEqual(['a', 'b', 'ended']);
  const [first] = await journal.inDoubt(inbox, 0, 1);
  expect(await inDoubt(first!.number, 1)).toEqual(['b']);
  expect(await inDoubt((await journal.inDoubt(inbox, 0, 2)).at(-1)!.number, 1)).toEqual(['ended']);
});

test('too many calls or bytes are forgotten from the oldest settled one on, never an unsettled one', async () => {
  await using t = await journalFile();
  const limits = { calls: 3, bytes: 1_000 };
  await using journal = await t.open({ monotonic: () => 0, pruneEveryMs: 2, limits });
  const list = async () => (await journal.list({ limit: 100 })).map(({ requestId }) => requestId).sort();
  for (const id of ['a', 'b', 'c', 'd', 'e']) await journal.start(call(id));
  for (const requestId of ['b', 'd', 'e']) journal.settle({ agent: 'rosa', requestId }, 'refused');
  await vi.waitFor(async () => expect(await list()).toEqual(['a', 'c', 'e']));
  const reply = 'x'.repeat(2_000);
  await journal.finish({ agent: 'rosa', requestId: 'a' }, { ...end, reply });
  await journal.finish({ agent: 'rosa', requestId: 'e' }, { ...end, reply });
  const replyOf = async (requestId: string) => (await journal.find({ agent: 'rosa', requestId }))?.end?.reply;
  await vi.waitFor(async () => expect(await replyOf('e')).toBeUndefined());
  expect(await replyOf('a')).toBe(reply);
});

const notWritten = (error: unknown) => expect.unreachable(String(error));

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
    for (const id of ['whole', 'scratched-reply', 'scratched-end']) await journal.start(call(id));
    await journal.start(call('scratched-start', { tool: 'scratched-tool' }));
    await journal.finish(find('whole'), end);
    await journal.finish(find('scratched-reply'), { ...end, reply: '{"result":"unreadable"}' });
    await journal.finish(find('scratched-start'), end);
  }
  {
    await using journal = await t.open({ onDamage });
    expect(journal.claim('inbox', () => expect.fail()).previous).toHaveLength(1);
  }
  expect(reports).toEqual([]);
  scratch(t.file, 'unreadable');
  {
    await using journal = await t.open({ onDamage });
    expect(await journal.find(find('whole'))).toMatchObject({ end });
    expect(await journal.find(find('scratched-reply'))).not.toHaveProperty('end');
  }
  expect(reports).toEqual([]);
  scratch(t.file, 'scratched-tool');
  {
    await using journal = await t.open({ onDamage });
    expect(await journal.find(find('scratched-start'))).not.toHaveProperty('end');
    expect(await journal.find(find('whole'))).toMatchObject({ end });
    expect(journal.claim('inbox', () => expect.fail()).previous).toEqual([]);
  }
  expect(reports).toEqual([expect.stringContaining(`${t.file} is damaged (1 rows)`)]);
});

test('a list of generations that is no list claims none', async () => {
  await using t = await journalFile();
  {
    await using journal = await t.open();
    journal.claim('inbox', () => expect.fail());
    await journal.start(call('written'));
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
