import type { JournalLimits } from '@signalbox/serving';
import { expect, test, vi } from 'vitest';
import type { Journal, StartedCall } from '../journal/journal.ts';

const hour = 3_600_000;
const inbox = 'b-1 orchestrator';

/** The settings of a journal that tests choose. `clock` returns the milliseconds by which calls grow old. */
export interface JournalTestOptions {
  limits?: Partial<JournalLimits>;
  pruneEveryMs?: number;
  clock?: () => number;
}

/** The place of one journal, which is opened again and again. */
export interface JournalPlace extends AsyncDisposable {
  open(options?: JournalTestOptions): Promise<Journal>;
}

/** Makes a call that is about to start. */
export const startedCall = (requestId: string, more: Partial<StartedCall> = {}): StartedCall => ({
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

/** Returns the record of the call that lists hold. */
function listed(requestId: string) {
  const { inbox: _, lifetimeMs: __, ...told } = startedCall(requestId);
  return { ...told, wasStarted: true, isSettled: false };
}

/** Returns the journal's entry for a call. */
export function entryOf(requestId: string) {
  return { ...listed(requestId), isKept: false };
}

export const okEnd = { outcome: 'ok', finishedAt: 300, reply: '{"result":{}}' } as const;

/** Tests the promises of every journal. */
export function journalTests(
  start: () => Promise<JournalPlace>,
  { agesWhileClosed }: { agesWhileClosed: boolean },
): void {
  test('calls are told apart by agent and request, and come newest first', async () => {
    await using t = await start();
    await using journal = await t.open();
    await journal.start(startedCall('one', { receivedAt: 1 }));
    await journal.start(startedCall('one', { agent: 'walt', receivedAt: 3, thread: 'build-7' }));
    await journal.start(startedCall('two', { receivedAt: 2 }));
    await journal.finish({ agent: 'walt', requestId: 'one' }, okEnd);
    expect(await journal.find({ agent: 'rosa', requestId: 'one' })).not.toHaveProperty('end');
    expect(await journal.find({ agent: 'walt', requestId: 'one' })).toMatchObject({ thread: 'build-7' });
    const names = (calls: Pick<StartedCall, 'agent' | 'requestId'>[]) =>
      calls.map(({ agent, requestId }) => `${agent} ${requestId}`);
    expect(names(await journal.list({ limit: 10 }))).toEqual(['walt one', 'rosa two', 'rosa one']);
    expect(names(await journal.list({ since: 2, limit: 1 }))).toEqual(['walt one']);
  });

  test('an agent’s own calls are its last 50 and those whose replies are kept, newest first, also after a restart; a role’s own are found behind those that it may not see', async () => {
    await using t = await start();
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
      await journal.record(startedCall('kept', { receivedAt: 0, role: 'reader' }), okEnd);
      journal.settle({ agent: 'rosa', requestId: 'kept' }, 'waits');
      await journal.start(startedCall('r0', { agent: 'walt' }));
      await Promise.all(ids.map((id, n) => journal.start(startedCall(id, { receivedAt: n }))));
      await check(journal);
    }
    await using journal = await t.open();
    await check(journal);
  });

  test('the first end counts, and one without a start is nothing', async () => {
    await using t = await start();
    await using journal = await t.open();
    const key = { agent: 'rosa', requestId: 'r' };
    await journal.finish(key, okEnd);
    expect(await journal.find(key)).toBeUndefined();
    await journal.start(startedCall('r'));
    await journal.finish(key, okEnd);
    await journal.finish(key, { outcome: 'internal', finishedAt: 999, reply: '{}' });
    expect(await journal.find(key)).toEqual({ ...entryOf('r'), end: okEnd });
  });

  test('a call that was started is not started again until it has ended, and then only by one that has read its entry', async () => {
    await using t = await start();
    await using journal = await t.open();
    const key = { agent: 'rosa', requestId: 'r' };
    await journal.keep(startedCall('r'));
    await journal.start(startedCall('r'));
    const again = () => journal.start(startedCall('r', { startedAt: 250 }));
    await expect(again()).rejects.toMatchObject({ code: 'journal_already_started' });
    expect(await journal.find(key)).toMatchObject({ startedAt: 200 });
    await journal.finish(key, okEnd);
    await expect(again()).rejects.toMatchObject({ code: 'journal_already_started' });
    await journal.start(startedCall('r', { startedAt: 400 }), await journal.find(key));
    expect(await journal.find(key)).toMatchObject({ startedAt: 400 });
  });

  test('a stored reply is dropped; one that is late, waits, was refused or that nobody knows of is kept', async () => {
    await using t = await start();
    const ways = ['stored', 'late', 'waits', 'refused', 'found'] as const;
    {
      await using journal = await t.open();
      for (const requestId of ways) {
        const key = { agent: 'rosa', requestId };
        await journal.start(startedCall(requestId));
        await journal.finish(key, { ...okEnd, isLate: requestId === 'late' });
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
    await using t = await start();
    await using journal = await t.open();
    const { startedAt: _, ...safe } = startedCall('safe', { tool: 'mcp_counter__echo' });
    await journal.record(safe, okEnd);
    const { startedAt: __, ...written } = entryOf('safe');
    expect(await journal.find({ agent: 'rosa', requestId: 'safe' })).toEqual({
      ...written,
      tool: 'mcp_counter__echo',
      end: okEnd,
    });
    await journal.start(startedCall('started'));
    await journal.record(startedCall('started'), okEnd);
    expect(await journal.find({ agent: 'rosa', requestId: 'started' })).toEqual(entryOf('started'));
  });

  test('a call whose reply is to be kept has an entry that is no start, outlives a kill of the process, and keeps its reply', async () => {
    await using t = await start();
    const ids = ['safe', 'unsafe', 'ended'];
    const find = (journal: Journal) =>
      Promise.all(ids.map((requestId) => journal.find({ agent: 'rosa', requestId })));
    {
      await using journal = await t.open();
      await journal.start(startedCall('ended'));
      await journal.finish({ agent: 'rosa', requestId: 'ended' }, okEnd);
      for (const requestId of ids) await journal.keep(startedCall(requestId));
      await journal.start(startedCall('unsafe'));
    }
    await using journal = await t.open();
    expect(await find(journal)).toMatchObject([
      { wasStarted: false, isKept: true },
      { wasStarted: true, isKept: true, startedAt: 200 },
      { wasStarted: true, isKept: false },
    ]);
    for (const requestId of ids) {
      const key = { agent: 'rosa', requestId };
      await journal.finish(key, okEnd, await journal.find(key));
      journal.settle({ agent: 'rosa', requestId }, 'stored');
    }
    await vi.waitFor(async () => expect((await find(journal)).every((found) => found?.isSettled)).toBe(true));
    const replies = (await find(journal)).map((found) => found?.end?.reply);
    expect(replies).toEqual([okEnd.reply, okEnd.reply, undefined]);
  });

  test('what is settled when the journal closes is settled when it opens again', async () => {
    await using t = await start();
    const key = { agent: 'rosa', requestId: 'r' };
    {
      await using journal = await t.open();
      await journal.start(startedCall('r'));
      await journal.finish(key, okEnd);
      journal.settle(key, 'stored');
    }
    await using journal = await t.open();
    expect((await journal.find(key))?.end).toEqual({ outcome: 'ok', finishedAt: 300 });
  });

  test('a settled call is forgotten after its time; one that is not settled never is', async () => {
    await using t = await start();
    let passed = 0;
    const options = { clock: () => passed, pruneEveryMs: 2, limits: { ageMs: hour } };
    const key = (requestId: string) => ({ agent: 'rosa', requestId });
    {
      await using journal = await t.open(options);
      for (const id of ['early', 'late', 'open']) await journal.start(startedCall(id, { lifetimeMs: 1 }));
      journal.settle(key('early'), 'stored');
      passed += hour / 2;
      journal.settle(key('late'), 'found');
    }
    if (!agesWhileClosed) passed += 24 * hour;
    await using journal = await t.open(options);
    passed += hour / 2;
    await vi.waitFor(async () => expect(await journal.find(key('early'))).toBeUndefined());
    expect(await journal.find(key('late'))).toBeDefined();
    passed += 100 * hour;
    await vi.waitFor(async () => expect(await journal.find(key('late'))).toBeUndefined());
    expect(await journal.find(key('open'))).toEqual(entryOf('open'));
  });

  test('a call is in doubt when its lifetime is over and nothing says that it is settled, unless it runs', async () => {
    await using t = await start();
    let passed = 0;
    const clock = () => passed;
    {
      await using journal = await t.open({ clock });
      await journal.start(startedCall('long', { lifetimeMs: hour + 1 }));
      for (const id of ['a', 'settled', 'b']) await journal.start(startedCall(id, { lifetimeMs: hour }));
      await journal.start(startedCall('other', { lifetimeMs: hour, inbox: 'b-2 orchestrator' }));
      journal.settle({ agent: 'rosa', requestId: 'settled' }, 'refused');
      passed += hour / 2;
    }
    await using journal = await t.open({ clock });
    const inDoubt = async (after = 0, limit = 9) =>
      (await journal.inDoubt(inbox, after, limit)).map(({ key }) => key.requestId);
    await journal.start(startedCall('running', { lifetimeMs: 1 }));
    await journal.start(startedCall('ended', { lifetimeMs: 1 }));
    await journal.finish({ agent: 'rosa', requestId: 'ended' }, okEnd);
    passed += hour / 2 - 1;
    expect(await inDoubt()).toEqual(['ended']);
    passed += 1;
    expect(await inDoubt()).toEqual(['a', 'b', 'ended']);
    const [first] = await journal.inDoubt(inbox, 0, 1);
    expect(await inDoubt(first!.number, 1)).toEqual(['b']);
    expect(await inDoubt((await journal.inDoubt(inbox, 0, 2)).at(-1)!.number, 1)).toEqual(['ended']);
  });

  test('too many calls or bytes are forgotten from the oldest settled one on, never an unsettled one', async () => {
    await using t = await start();
    const limits = { calls: 3, bytes: 1_000 };
    await using journal = await t.open({ clock: () => 0, pruneEveryMs: 2, limits });
    const list = async () => (await journal.list({ limit: 100 })).map(({ requestId }) => requestId).sort();
    for (const id of ['a', 'b', 'c', 'd', 'e']) await journal.start(startedCall(id));
    for (const requestId of ['b', 'd', 'e']) journal.settle({ agent: 'rosa', requestId }, 'refused');
    await vi.waitFor(async () => expect(await list()).toEqual(['a', 'c', 'e']));
    const reply = 'x'.repeat(2_000);
    await journal.finish({ agent: 'rosa', requestId: 'a' }, { ...okEnd, reply });
    await journal.finish({ agent: 'rosa', requestId: 'e' }, { ...okEnd, reply });
    const replyOf = async (requestId: string) =>
      (await journal.find({ agent: 'rosa', requestId }))?.end?.reply;
    await vi.waitFor(async () => expect(await replyOf('e')).toBeUndefined());
    expect(await replyOf('a')).toBe(reply);
  });
}
