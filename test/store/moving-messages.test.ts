import { describe, expect, it } from 'vitest';
import { commit, hour, message, openStore, pages, select, settle, startedAt } from './store-setup.ts';

describe('Messages on their way through the store', () => {
  it.each([2000, 40, 0])(
    'takes a dead letter back once, but not beside another message of its id, with %d recent ones',
    async (recentMessages) => {
      await using setup = await openStore({ recentMessages });
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
        await setup.store.sweep(setup.now());
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

  it('counts what waits in the table and what is recent, and leaves no count when all is settled', async () => {
    await using setup = await openStore({ recentMessages: 40 });
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
      expect(select(setup.file, 'SELECT * FROM inbox_count ORDER BY inbox, sender')).toEqual(
        select(
          setup.file,
          'SELECT inbox, sender, count(*) AS pending, sum(size) AS bytes FROM message GROUP BY inbox, sender',
        ),
      );
    };
    await send(0, 25, 'inbox');
    await send(0, 8, 'other');
    await expectCounted();
    await setup.reopen();
    await send(25, 5, 'inbox');
    await expectCounted();
    expect(select(setup.file, 'SELECT sum(pending) AS rows FROM inbox_count')).toEqual([{ rows: 25 }]);
    await settle(setup, sent.inbox!.splice(3, 24));
    await expectCounted();
    await setup.reopen();
    await expectCounted();
    for (const [inbox, seqs] of Object.entries(sent)) await settle(setup, seqs.splice(0), 'acked', inbox);
    await expectCounted();
    await setup.reopen();
    await expectCounted();
    expect(select(setup.file, 'SELECT * FROM inbox_count')).toEqual([]);
  });

  it('recognises each id in many pages, whatever the ids look like, until the oldest pages go', async () => {
    const minute = 60_000;
    const rounds = 150;
    await using setup = await openStore({ recentMessages: 10, retentionMs: 100 * minute });
    const idOf = (i: number) => (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(36);
    const outcomeOf = async (i: number) => (await setup.store.find('inbox', 'ann', idOf(i)))?.outcome;
    const results = async (from: number, to: number, by: number) => {
      const ids = Array.from({ length: Math.ceil((to - from) / by) }, (_, i) => idOf(from + i * by));
      const batch = { messages: ids.map(message), settlements: [], attempts: [] };
      return new Set((await setup.store.commit(batch)).map(({ result }) => result));
    };
    // A page for each minute.
    for (let round = 0; round < rounds; round++) {
      setup.advance(minute);
      const ids = Array.from({ length: 12 }, (_, i) => idOf(12 * round + i));
      await settle(setup, await commit(setup, ids.map(message)));
    }
    expect(pages(setup.file).length).toBeGreaterThan(2 * 64);
    for (const isReopened of [false, true]) {
      const store = isReopened ? await setup.reopen() : setup.store;
      expect(await results(0, 12 * rounds, 5)).toEqual(new Set(['duplicate']));
      const unknown = Array.from({ length: 300 }, (_, i) =>
        store.find('inbox', 'ann', idOf(12 * rounds + i)),
      );
      expect(new Set(await Promise.all(unknown))).toEqual(new Set([undefined]));
    }
    const before = pages(setup.file);
    for (let step = 0; step < 20; step++) await setup.store.sweep(setup.now());
    const left = pages(setup.file);
    expect(left).toEqual(before.slice(-left.length));
    const gone = 12 * (rounds - 103);
    const kept = 12 * (rounds - 99);
    for (let i = 0; i < gone; i += 7) expect(await outcomeOf(i), `${i}`).toBeUndefined();
    expect(await results(kept, 12 * rounds, 5)).toEqual(new Set(['duplicate']));
    expect(await results(0, gone, 12)).toEqual(new Set(['stored']));
  });

  it('knows a dead letter that came back as waiting, wherever its first life is remembered', async () => {
    await using setup = await openStore({ recentMessages: 8 });
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
    await using setup = await openStore({ recentMessages: 16, dedupeWindowMs: 1000, retentionMs: 1000 });
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
      await store.sweep(setup.now());
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

  it('writes a message that nobody reads to its table at once, behind those that were recent', async () => {
    await using setup = await openStore();
    const [first] = await commit(setup, [message('read')]);
    const [second] = await commit(setup, [{ ...message('unread'), unread: true }]);
    const [third] = await commit(setup, [message('later')]);
    expect(select(setup.file, 'SELECT seq FROM message ORDER BY seq')).toEqual([
      { seq: first },
      { seq: second },
      { seq: third },
    ]);
    expect((await (await setup.reopen()).read('inbox', 0, 9, 1000)).map(({ id }) => id)).toEqual([
      'read',
      'unread',
      'later',
    ]);
    await settle(setup, [first!, second!, third!]);
    await commit(
      setup,
      [message('recent again')].map((one) => ({ ...one, id: 'recent-again' })),
    );
    expect(select(setup.file, 'SELECT seq FROM message')).toEqual([]);
  });
});
