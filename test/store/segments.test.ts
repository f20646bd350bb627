import { steadyTime } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import {
  commit,
  hour,
  message,
  openStore,
  select,
  settle,
  settledSegments,
  startedAt,
} from '../support/store/test-store.ts';

describe('Messages on their way through the store', () => {
  it.each([2000, 40, 0])(
    'takes a dead letter back once, but not beside another message of its id, with %d messages in the memtable',
    async (memtableMessages) => {
      await using setup = await openStore({ memtableMessages });
      const buried = { ...message('a'), body: '"dead 😀"', correlationId: 'c' };
      const [seq] = await commit(setup, [buried]);
      await settle(setup, [seq!], 'dead');
      const { body: _, ...metadata } = buried;
      const letter = {
        ...metadata,
        seq,
        attempts: 0,
        size: 11,
        deadAt: startedAt,
        reason: 'no reason given',
      };
      expect(await setup.store.dead.find(seq!)).toEqual({ ...letter, body: buried.body });
      expect(await setup.store.find('inbox', 'ann', 'a')).toMatchObject({ seq, outcome: 'dead' });
      for (let step = 0; step < 3; step++) {
        setup.advance(24 * hour);
        await setup.store.sweep(steadyTime(setup.now()));
      }
      const [other] = await commit(setup, [message('a')]);
      const { dead } = await setup.reopen();
      expect(await dead.retry(seq!, setup.now())).toEqual({ result: 'id_conflict' });
      expect(await dead.list('inbox', 0, 9)).toEqual([letter]);
      await settle(setup, [other!]);
      expect(await dead.retry(seq!, setup.now())).toMatchObject({ result: 'stored' });
      expect(await dead.retry(seq!, setup.now())).toEqual({ result: 'unknown' });
      expect(await setup.store.read('inbox', 0, 9, 1e6)).toMatchObject([{ id: 'a', body: buried.body }]);
      const [again] = await setup.store.read('inbox', 0, 9, 1e6);
      await settle(setup, [again!.seq], 'dead');
      expect(await dead.drop(again!.seq)).toBe(true);
      expect(await dead.list(undefined, 0, 9)).toEqual([]);
      expect(await setup.store.stats('inbox')).toMatchObject({ pending: 0, bytes: 0 });
    },
  );

  it('counts what is pending in segments and in the memtable, and leaves no count when all is settled', async () => {
    await using setup = await openStore({ memtableMessages: 36 });
    const sent: Record<string, number[]> = { inbox: [], other: [] };
    const send = async (from: number, count: number, inbox: string) => {
      const messages = Array.from({ length: count }, (_, i) => ({
        ...message(`${inbox}-${from + i}`),
        inbox,
        sender: i % 3 === 0 ? 'bob' : 'ann',
      }));
      sent[inbox]!.push(...(await commit(setup, messages)));
    };
    const expectCounted = async () => {
      for (const [inbox, seqs] of Object.entries(sent)) {
        const stats = { pending: seqs.length, bytes: 6 * seqs.length, headSeq: seqs.at(-1) ?? 0 };
        expect(await setup.store.stats(inbox)).toEqual(stats);
      }
      const counts = select(
        setup.file,
        'SELECT inbox, sum(pending) AS pending FROM pending_count GROUP BY inbox',
      );
      for (const { inbox, pending } of counts as { inbox: string; pending: number }[])
        expect(pending).toBeLessThanOrEqual(sent[inbox]!.length);
    };
    await send(0, 25, 'inbox');
    await send(0, 8, 'other');
    await expectCounted();
    await setup.reopen();
    await send(25, 5, 'inbox');
    await expectCounted();
    expect(select(setup.file, 'SELECT sum(pending) AS pending FROM pending_count')).toEqual([
      { pending: 38 },
    ]);
    await settle(setup, sent.inbox!.splice(3, 24));
    await expectCounted();
    await setup.reopen();
    await expectCounted();
    for (const [inbox, seqs] of Object.entries(sent)) await settle(setup, seqs.splice(0), 'acked', inbox);
    await expectCounted();
    await setup.reopen();
    await expectCounted();
    expect(select(setup.file, 'SELECT * FROM pending_count')).toEqual([]);
  });

  it('moves old messages out of memory although the wall clock was set back', async () => {
    let back = 0;
    let passed = 0;
    await using setup = await openStore({ now: () => startedAt + passed - back, monotonic: () => passed });
    await settle(setup, await commit(setup, ['a', 'b'].map(message)));
    back = hour;
    passed = hour;
    await setup.store.sweep(steadyTime(startedAt + passed - back));
    expect(settledSegments(setup.file)).toHaveLength(1);
  });

  it('moves old messages of many inboxes out of memory in several steps, in which none is lost', async () => {
    let passed = 0;
    await using setup = await openStore({ now: () => startedAt + passed, monotonic: () => passed });
    const ids = Array.from({ length: 300 }, (_, n) => `m-${n}`);
    for (const id of ids) await commit(setup, [{ ...message(id), inbox: `inbox-of-${id}` }]);
    passed = hour;
    const left: number[] = [];
    for (let step = 0; step < 3; step++) {
      await setup.store.sweep(steadyTime(startedAt));
      left.push(select(setup.file, 'SELECT number FROM commit_log').length);
    }
    expect(left).toEqual([172, 44, 0]);
    for (const id of ids) expect(await setup.store.read(`inbox-of-${id}`, 0, 9, 1e9)).toMatchObject([{ id }]);
  });

  it('remembers what was settled for the dedupe window after a leap of the clock', async () => {
    await using setup = await openStore({ memtableMessages: 4 });
    const { store } = setup;
    await settle(setup, await commit(setup, ['a', 'b', 'c', 'd', 'e'].map(message)));
    const segments = settledSegments(setup.file);
    expect(segments).not.toEqual([]);
    setup.advance(store.dedupeWindowMs);
    await store.sweep(steadyTime(setup.now()));
    for (const ms of [0, store.dedupeWindowMs - 1]) {
      setup.advance(ms);
      await store.sweep(steadyTime(setup.now() + 192 * hour));
      expect(settledSegments(setup.file)).toEqual(segments);
    }
    setup.advance(1);
    await store.sweep(steadyTime(setup.now() + 192 * hour));
    expect(settledSegments(setup.file)).toEqual([]);
  });

  it('knows a dead letter that came back as waiting, wherever its first life is remembered', async () => {
    await using setup = await openStore({ memtableMessages: 8 });
    const { store } = setup;
    const die = async (id: string) => {
      const [seq] = await commit(setup, [message(id)]);
      await store.commit({
        messages: [],
        attempts: [],
        settlements: [{ inbox: 'inbox', seq: seq!, outcome: 'dead' }],
      });
      return seq!;
    };
    const again = async (id: string, body: string) => {
      const [answer] = await store.commit({
        messages: [{ ...message(id), body }],
        settlements: [],
        attempts: [],
      });
      return answer!.result;
    };
    const others = ['b', 'c', 'd', 'e', 'f'];
    await commit(setup, others.map(message));
    const buried = await die('a');
    const retried = await store.dead.retry(buried, setup.now());
    expect(retried).toMatchObject({ result: 'stored' });
    const seq = retried.result === 'stored' ? retried.seq : 0;
    expect(await store.find('inbox', 'ann', 'a')).toEqual({ seq, kind: 'note', senderAddress: 'ann' });
    expect(await again('a', '"another"')).toBe('id_conflict');
    expect(await again('a', '"body"')).toBe('duplicate');
    await settle(setup, [seq]);
    await commit(
      setup,
      Array.from({ length: 12 }, (_, i) => ({ ...message(`z${i}`), inbox: `other-${i}` })),
    );
    expect(await store.find('inbox', 'ann', 'a')).toMatchObject({ outcome: 'acked' });
  });

  it('never takes two dead letters of one id back at once', async () => {
    await using setup = await openStore({ memtableMessages: 16, dedupeWindowMs: 1000, retentionMs: 1000 });
    const { store } = setup;
    const die = async () => {
      const [seq] = await commit(setup, [message('a')]);
      await store.commit({
        messages: [],
        attempts: [],
        settlements: [{ inbox: 'inbox', seq: seq!, outcome: 'dead' }],
      });
      return seq!;
    };
    const first = await die();
    for (let day = 0; day < 3; day++) {
      setup.advance(25 * hour);
      await store.sweep(steadyTime(setup.now()));
    }
    const second = await die();
    await commit(
      setup,
      Array.from({ length: 12 }, (_, i) => message(`other-${i}`)),
    );
    expect(await store.dead.retry(first, setup.now())).toMatchObject({ result: 'stored' });
    expect(await store.dead.retry(second, setup.now())).toEqual({ result: 'id_conflict' });
    expect(await store.stats('inbox')).toMatchObject({ pending: 13 });
    expect(await store.read('inbox', 0, 99, 1e9)).toHaveLength(13);
    expect(await store.dead.find(second)).toMatchObject({ id: 'a' });
  });

  it('takes a message back from its segment for an attempt, and counts and reads as before', async () => {
    await using setup = await openStore({ memtableMessages: 300 });
    const seqs = await commit(
      setup,
      Array.from({ length: 400 }, (_, i) => message(`m${i}`)),
    );
    const attempts = [200, 300].map((at) => ({ inbox: 'inbox', seq: seqs[at]!, attempts: 2 }));
    await (await setup.reopen()).commit({ messages: [], settlements: [], attempts });
    const [later] = await commit(setup, [message('later')]);
    for (const isReopened of [false, true]) {
      const again = isReopened ? await setup.reopen() : setup.store;
      expect(await again.stats('inbox')).toEqual({ pending: 401, bytes: 401 * 6, headSeq: later });
      const read = await again.read('inbox', 0, 999, 1e9);
      expect(read.map(({ id }) => id)).toEqual([...seqs.map((_, i) => `m${i}`), 'later']);
      const asked = [seqs[5]!, seqs[250]!, seqs[200]!, seqs.at(-1)! + 9];
      const tried = await again.tried('inbox', asked, 99);
      expect(tried.map(({ seq, attempts: count }) => [seq, count])).toEqual([
        [seqs[5], 0],
        [seqs[200], 2],
        [seqs[250], 0],
        [seqs[300], 2],
      ]);
    }
  });

  it('keeps the order of an inbox when a message goes to a segment later than its neighbours', async () => {
    await using setup = await openStore({ memtableMessages: 400, segmentMessages: 16 });
    const send = (name: string) =>
      commit(
        setup,
        Array.from({ length: 400 }, (_, i) => message(`${name}${i}`)),
      );
    const pending = [...(await send('first')), ...(await send('second'))];
    // One message is tried, and so many of the others in ten segments are settled that what is left is merged without it.
    const tried = { inbox: 'inbox', seq: pending[5]!, attempts: 2 };
    const [acked, left] = [0, 1].map((part) =>
      pending.filter((_, i) => Number(i >= 160 || (i % 16 >= 4 && i % 16 < 7)) === part),
    ) as [number[], number[]];
    const settlements = acked.map((seq) => ({ inbox: 'inbox', seq, outcome: 'acked' as const }));
    await setup.store.commit({ messages: [], attempts: [tried], settlements });
    left.push(...(await send('third')));
    for (const isReopened of [false, true]) {
      const store = isReopened ? await setup.reopen() : setup.store;
      const read = await store.read('inbox', 0, 9999, 1e9);
      expect(read.map(({ seq }) => seq)).toEqual(left);
      expect(read[1]).toMatchObject({ seq: tried.seq, attempts: 2 });
      for (const [i, seq] of left.slice(0, 5).entries())
        expect(await store.read('inbox', seq, 1, 1)).toMatchObject([{ seq: left[i + 1] }]);
    }
    await settle(setup, left);
    expect(await setup.store.stats('inbox')).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
    expect(select(setup.file, 'SELECT * FROM pending_range')).toEqual([]);
  });

  it('counts what is pending as before when there is no room to take a dead letter back', async () => {
    await using setup = await openStore({ caps: { store: { bytes: 460_000 } } });
    const [buried] = await commit(setup, [{ ...message('large'), body: 'x'.repeat(120_000) }]);
    await settle(setup, [buried!], 'dead');
    let headSeq = 0;
    for (let i = 0; i < 200; i++)
      [headSeq = 0] = await commit(setup, [{ ...message(`m${i}`), body: 'x'.repeat(1000) }]);
    expect(await setup.store.dead.retry(buried!, setup.now())).toEqual({ result: 'storage_full' });
    for (const isReopened of [false, true]) {
      const store = isReopened ? await setup.reopen() : setup.store;
      expect(await store.stats('inbox')).toEqual({ pending: 200, bytes: 200_000, headSeq });
    }
  });

  it('forgets settled messages in time although the clock ran an hour ahead for a while', async () => {
    await using setup = await openStore({ memtableMessages: 4 });
    const settled = async (id: string) => {
      await settle(setup, await commit(setup, [message(id)]));
      // Others push it out of the memtable.
      await commit(
        setup,
        Array.from({ length: 5 }, (_, i) => message(`${id}-${i}`)),
      );
    };
    setup.advance(hour);
    await settled('ahead');
    setup.advance(-hour);
    await settled('right');
    const found = async () =>
      Promise.all(
        ['ahead', 'right'].map(async (id) => (await setup.store.find('inbox', 'ann', id))?.outcome),
      );
    setup.advance(24 * hour - 1);
    await setup.store.sweep(steadyTime(setup.now()));
    expect(await found()).toEqual(['acked', 'acked']);
    setup.advance(1);
    await setup.store.sweep(steadyTime(setup.now()));
    expect(await found()).toEqual(['acked', undefined]);
    setup.advance(hour);
    await setup.store.sweep(steadyTime(setup.now()));
    expect(await found()).toEqual([undefined, undefined]);
    expect(await setup.store.stats('inbox')).toMatchObject({ pending: 10 });
  });

  it('finds all that is expired in segments, step by step', async () => {
    const count = 5000;
    await using setup = await openStore({ memtableMessages: 10 });
    const sent = Array.from({ length: count }, (_, i) => message(`m${i}`));
    const isOld = (i: number) => i % 3 > 0;
    const seqs = await commit(
      setup,
      sent.map((one, i) => (isOld(i) ? { ...one, expiresAt: startedAt + hour } : one)),
    );
    expect(await setup.store.sweep(steadyTime(setup.now()))).toEqual([]);
    setup.advance(hour);
    const told = new Set<number>();
    for (let step = 0; step < 4; step++) {
      for (const one of await setup.store.sweep(steadyTime(setup.now()))) {
        expect(one).not.toHaveProperty('body');
        told.add(one.seq);
      }
    }
    expect([...told].sort((a, b) => a - b)).toEqual(seqs.filter((_, i) => isOld(i)));
    await settle(setup, [...told], 'expired');
    expect(await setup.store.sweep(steadyTime(setup.now()))).toEqual([]);
    expect(await setup.store.stats('inbox')).toMatchObject({ pending: count - told.size });
  });
});
