import type { NewMessage } from '@signalbox/store';
import { steadyTime } from '@signalbox/store';
import { describe, expect, it } from 'vitest';
import { commit, message, openStore, select, settle, settledSegments } from '../support/store/test-store.ts';

describe('Messages on their way through the store', () => {
  it('recognises each of many ids of any form, until the oldest pages go', async () => {
    const minute = 60_000;
    const rounds = 150;
    await using setup = await openStore({
      memtableMessages: 10,
      retentionMs: 100 * minute,
      dedupeWindowMs: minute / 2,
    });
    const idOf = (i: number) => (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(36);
    const outcomeOf = async (i: number) => (await setup.store.find('inbox', 'ann', idOf(i)))?.outcome;
    const results = async (from: number, to: number, by: number) => {
      const ids = Array.from({ length: Math.ceil((to - from) / by) }, (_, i) => idOf(from + i * by));
      const batch = { messages: ids.map(message), settlements: [], attempts: [] };
      return new Set((await setup.store.commit(batch)).map(({ result }) => result));
    };
    // A segment for each minute.
    for (let round = 0; round < rounds; round++) {
      setup.advance(minute);
      const ids = Array.from({ length: 12 }, (_, i) => idOf(12 * round + i));
      await settle(setup, await commit(setup, ids.map(message)));
    }
    expect(settledSegments(setup.file).length).toBeGreaterThan(2 * 64);
    for (const isReopened of [false, true]) {
      const store = isReopened ? await setup.reopen() : setup.store;
      expect(await results(0, 12 * rounds, 5)).toEqual(new Set(['duplicate']));
      const unknown = Array.from({ length: 300 }, (_, i) =>
        store.find('inbox', 'ann', idOf(12 * rounds + i)),
      );
      expect(new Set(await Promise.all(unknown))).toEqual(new Set([undefined]));
    }
    const before = settledSegments(setup.file);
    // Nothing is forgotten right after the store was opened.
    for (let step = 0; step < 20; step++) await setup.store.sweep(steadyTime(setup.now()));
    expect(settledSegments(setup.file)).toEqual(before);
    setup.advance(minute / 2);
    for (let step = 0; step < 20; step++) await setup.store.sweep(steadyTime(setup.now()));
    const left = settledSegments(setup.file);
    expect(left).toEqual(before.slice(-left.length));
    const gone = 12 * (rounds - 103);
    const kept = 12 * (rounds - 99);
    for (let i = 0; i < gone; i += 7) expect(await outcomeOf(i), `${i}`).toBeUndefined();
    expect(await results(kept, 12 * rounds, 5)).toEqual(new Set(['duplicate']));
    expect(await results(0, gone, 12)).toEqual(new Set(['stored']));
  });

  it('knows each message in segments, with ids of any form, and cuts out only the one that is settled', async () => {
    const count = 2000;
    await using setup = await openStore({ memtableMessages: 200 });
    const idOf = (i: number) => (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(36);
    const sent = Array.from({ length: count }, (_, i) => message(idOf(i)));
    const seqs = await commit(setup, sent);
    const ranges = () => select(setup.file, 'SELECT first, last FROM pending_range ORDER BY first');
    const before = ranges();
    expect(before.length).toBeGreaterThan(10);
    for (const isReopened of [false, true]) {
      const store = isReopened ? await setup.reopen() : setup.store;
      const repeats = async (messages: NewMessage[]) => {
        const appended = await store.commit({ messages, settlements: [], attempts: [] });
        return new Set(appended.map(({ result }) => result));
      };
      expect(await repeats(sent)).toEqual(new Set(['duplicate']));
      expect(await repeats(sent.map((one) => ({ ...one, body: '"other"' })))).toEqual(
        new Set(['id_conflict']),
      );
      expect(await store.find('inbox', 'ann', idOf(77))).toEqual({
        seq: seqs[77],
        kind: 'note',
        senderAddress: 'ann',
      });
      expect(await store.find('inbox', 'ann', idOf(count + 1))).toBeUndefined();
      expect(await store.find('inbox', 'bob', idOf(77))).toBeUndefined();
      const read = await store.read('inbox', seqs[99]!, 300, 1e9);
      expect(read.map(({ seq }) => seq)).toEqual(seqs.slice(100, 400));
    }
    await settle(setup, [seqs[500]!]);
    expect(ranges().length - before.length).toBe(1);
    expect(await setup.store.stats('inbox')).toMatchObject({ pending: count - 1 });
    await settle(setup, [seqs[500]!, seqs.at(-1)! + 1]);
    const left = seqs.filter((_, i) => i !== 500);
    const read = await (await setup.reopen()).read('inbox', 0, count, 1e9);
    expect(read.map(({ seq }) => seq)).toEqual(left);
    await settle(setup, left);
    expect(ranges()).toEqual([]);
    expect(select(setup.file, `SELECT * FROM segment WHERE kind = 'pending'`)).toEqual([]);
    expect(await setup.store.stats('inbox')).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
  });

  it('knows what is in each of 12,000 inboxes, although most of them are not in memory', async () => {
    const count = 12_000;
    await using setup = await openStore({ memtableMessages: 100, caps: { inbox: { messages: 2 } } });
    const send = (name: string) =>
      commit(
        setup,
        Array.from({ length: count }, (_, i) => ({ ...message(`${name}-${i}`), inbox: `inbox-${i}` })),
      );
    const seqs = await send('a');
    await setup.store.sweep(steadyTime(setup.now()));
    await send('b');
    await setup.store.sweep(steadyTime(setup.now()));
    for (const i of [0, 7000, count - 1]) {
      const inbox = `inbox-${i}`;
      const full = { messages: [{ ...message('c'), inbox }], settlements: [], attempts: [] };
      expect(await setup.store.commit(full)).toEqual([{ result: 'inbox_full' }]);
      await settle(setup, [seqs[i]!], 'acked', inbox);
      expect(await setup.store.stats(inbox)).toMatchObject({ pending: 1, bytes: 6 });
      expect(await setup.store.read(inbox, 0, 9, 1e9)).toMatchObject([{ id: `b-${i}` }]);
      expect(await setup.store.commit(full)).toMatchObject([{ result: 'stored' }]);
    }
    expect(await setup.store.inboxes('', count + 1)).toHaveLength(count);
  });
});
