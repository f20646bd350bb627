import { join } from 'node:path';
import { openSqliteJournal, type SqliteJournalOptions } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';

const hour = 3_600_000;
const MiB = 1024 * 1024;

/** A journal in which the test ends calls, with a clock in the hands of the test. */
async function startJournal(options: Partial<SqliteJournalOptions> = {}) {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const file = join(directory.path, 'journal.db');
  const clock = { ms: 0 };
  const open = () => openSqliteJournal({ file, monotonic: () => clock.ms, pruneEveryMs: 2, ...options });
  let journal = await open();
  starting.defer(() => journal[Symbol.asyncDispose]());
  const started = starting.move();
  return {
    clock,
    /** Ends calls of an agent, whose replies wait in an inbox that nobody holds. */
    async keep(agent: string, ids: readonly string[], { bytes = 20 } = {}) {
      for (const requestId of ids) {
        await journal.record(callOf(agent, requestId), endOf(bytes));
        journal.settle({ agent, requestId }, 'waits');
      }
    },
    /** Ends calls of an agent that were answered as usual. */
    async answer(agent: string, ids: readonly string[]) {
      const started = ids.map((id) => journal.start({ ...callOf(agent, id), startedAt: 1 }));
      await Promise.all(started);
      await Promise.all(ids.map((requestId) => journal.finish({ agent, requestId }, endOf(20))));
      for (const requestId of ids) journal.settle({ agent, requestId }, 'stored');
    },
    /** The ids of the calls whose replies the journal has. */
    async kept(agent: string) {
      const calls = await journal.listOf(agent, { limit: 10_000 });
      const entries = await Promise.all(calls.map(({ requestId }) => journal.find({ agent, requestId })));
      const replied = calls.filter((_, at) => entries[at]?.end?.reply !== undefined);
      expect(replied).toEqual(calls.filter(({ end }) => end?.isReplyKept));
      return replied.map(({ requestId }) => requestId).sort();
    },
    known: async (agent: string) =>
      (await journal.list({ limit: 10_000 })).filter((call) => call.agent === agent).length,
    /** Has another process open the journal, whose clock shows `ms` at its start. */
    async reopen(ms = clock.ms) {
      await journal[Symbol.asyncDispose]();
      clock.ms = ms;
      journal = await open();
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const callOf = (agent: string, requestId: string) => ({
  agent,
  requestId,
  role: 'worker',
  tool: 'mcp_counter__echo',
  receivedAt: 1,
  inbox: 'b-1 orchestrator',
  lifetimeMs: hour,
});

const endOf = (bytes: number) => ({ outcome: 'ok', finishedAt: 2, reply: 'x'.repeat(bytes) }) as const;

test('an agent has 64 MiB of kept replies, of which the oldest go first, and no other agent loses any', async () => {
  await using t = await startJournal();
  const bytes = 4 * MiB;
  const ids = Array.from({ length: 16 }, (_, i) => `r${String(i).padStart(2, '0')}`);
  await t.keep('walt', ['his']);
  await t.keep('rosa', ids, { bytes });
  await vi.waitFor(async () => expect(await t.kept('rosa')).toEqual(ids));
  await t.keep('rosa', ['small', 'large'], { bytes: 1 });
  await vi.waitFor(async () => expect(await t.kept('rosa')).toEqual(['large', ...ids.slice(1), 'small']));
  expect(await t.kept('walt')).toEqual(['his']);
  // A call whose reply was dropped is still known.
  expect(await t.known('rosa')).toBe(18);
});

test('an agent has so many kept replies, and all together have so many bytes: the agent with the most gives up its oldest', async () => {
  await using t = await startJournal({ limits: { keptPerAgent: 3, keptBytes: 1_000 } });
  await t.keep('rosa', ['a', 'b', 'c', 'd']);
  await vi.waitFor(async () => expect(await t.kept('rosa')).toEqual(['b', 'c', 'd']));
  await t.keep('walt', ['one', 'two'], { bytes: 490 });
  await vi.waitFor(async () => expect(await t.kept('walt')).toEqual(['two']));
  expect(await t.kept('rosa')).toEqual(['b', 'c', 'd']);
});

test('ordinary calls push no kept reply out, and kept replies no ordinary call', async () => {
  const limits = { calls: 50, bytes: 100 };
  await using t = await startJournal({ limits });
  await t.keep('rosa', ['kept'], { bytes: 5_000 });
  const ids = Array.from({ length: 400 }, (_, i) => `r${i}`);
  await t.answer('rosa', ids);
  await vi.waitFor(async () => expect(await t.known('rosa')).toBe(51));
  expect(await t.kept('rosa')).toEqual(['kept']);
});

test('a reply is kept for 24 hours in which a journal is open, also if the clocks of its processes are wrong', async () => {
  await using t = await startJournal();
  await t.keep('rosa', ['r']);
  t.clock.ms += 23 * hour;
  await t.reopen(-500 * hour);
  await t.reopen(500 * hour);
  t.clock.ms += hour - 1;
  await t.reopen();
  expect(await t.kept('rosa')).toEqual(['r']);
  t.clock.ms += 1;
  await vi.waitFor(async () => expect(await t.kept('rosa')).toEqual([]));
});
