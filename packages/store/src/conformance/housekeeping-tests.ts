import { expect, it } from 'vitest';
import { ack, append, commit, message, type OpenStore, seqOf, sweepAll } from './store-under-test.ts';

export function housekeepingTests(open: OpenStore): void {
  it('knows what is pending in each inbox, before and after a restart', async () => {
    await using setup = await open();
    const appended = await append(setup.store, [
      message({ id: 'a', inbox: 'b#x' }),
      message({ id: 'b', inbox: 'a' }),
      message({ id: 'c', inbox: 'c' }),
      message({ id: 'd', inbox: 'a' }),
    ]);
    await ack(setup.store, 'c', seqOf(appended[2]));
    for (let restart = 0; restart < 2; restart++) {
      const { store } = setup;
      expect(await store.inboxes('', 9)).toEqual(['a', 'b#x']);
      expect(await store.inboxes('', 1)).toEqual(['a']);
      expect(await store.inboxes('a', 9)).toEqual(['b#x']);
      expect(await store.stats('a')).toEqual({ pending: 2, bytes: 12, headSeq: seqOf(appended[3]) });
      expect(await store.stats('c')).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
      await setup.reopen();
    }
  });

  it('lists agents with messages in their own inboxes by name, in pages, before and after a restart', async () => {
    await using setup = await open();
    expect(await setup.store.waiting('', 10)).toEqual({ agents: [] });
    const began = setup.now();
    const inboxes = ['walt', 'ann', 'ann#x', 'bob#x', 'ann', 'dead', 'zoe', 'gone'];
    const appended = await append(
      setup.store,
      inboxes.map((inbox, i) => message({ id: String(i), inbox, createdAt: began + i })),
    );
    const dead = { inbox: 'dead', seq: seqOf(appended[5]), outcome: 'dead' as const, reason: 'nobody' };
    await commit(setup.store, { settlements: [dead] });
    await ack(setup.store, 'gone', seqOf(appended[7]));
    const ann = { agent: 'ann', pending: 2, oldestAt: began + 1 };
    const walt = { agent: 'walt', pending: 1, oldestAt: began };
    for (let restart = 0; restart < 2; restart++) {
      expect((await setup.store.waiting('', 10)).agents).toMatchObject([ann, walt, { agent: 'zoe' }]);
      expect(await setup.store.waiting('', 1)).toEqual({ agents: [ann], cursor: 'ann' });
      // `bob` has a message only in a sub-inbox, and `dead` has only a dead letter.
      expect(await setup.store.waiting('ann', 1)).toEqual({ agents: [], cursor: 'bob' });
      expect(await setup.store.waiting('gone', 2)).not.toHaveProperty('cursor');
      await setup.reopen();
    }
    await ack(setup.store, 'ann', seqOf(appended[1]));
    expect((await setup.store.waiting('', 2)).agents).toEqual([
      { agent: 'ann', pending: 1, oldestAt: began + 4 },
    ]);
    // These are more than fit into memory, so that most of them are read from the disk.
    const many = Array.from({ length: 3000 }, (_, i) =>
      message({ id: `m${i}`, inbox: `many-${String(i % 300)}`, createdAt: began + i }),
    );
    await append(setup.store, many);
    const { agents } = await setup.store.waiting('many-', 1000);
    expect(agents.filter(({ agent }) => agent.startsWith('many-'))).toHaveLength(300);
    expect(agents[0]).toEqual({ agent: 'many-0', pending: 10, oldestAt: began });
    expect(await setup.store.backlog()).toMatchObject({ pending: 3005, dead: 1, oldestAt: began });
  });

  it('counts what waits in all inboxes and what is dead, and knows the oldest, before and after a restart', async () => {
    await using setup = await open();
    expect(await setup.store.backlog()).toEqual({ pending: 0, dead: 0, scheduled: 0 });
    const began = setup.now();
    const many = Array.from({ length: 500 }, (_, i) =>
      message({ id: String(i), inbox: `inbox-${i % 7}`, createdAt: began + i }),
    );
    const [first, second] = await append(setup.store, many);
    expect(await setup.store.backlog()).toEqual({ pending: 500, dead: 0, scheduled: 0, oldestAt: began });
    await ack(setup.store, 'inbox-0', seqOf(first));
    const dead = { inbox: 'inbox-1', seq: seqOf(second), outcome: 'dead' as const, reason: 'nobody' };
    await commit(setup.store, { settlements: [dead] });
    for (let restart = 0; restart < 2; restart++) {
      expect(await setup.store.backlog()).toEqual({
        pending: 498,
        dead: 1,
        scheduled: 0,
        oldestAt: began + 2,
      });
      await setup.reopen();
    }
  });

  it('counts what is pending in the inboxes after a name, before and after a restart', async () => {
    await using setup = await open();
    const proved = await setup.store.prove();
    expect(proved).toBe('works');
    const many = Array.from({ length: 3000 }, (_, i) =>
      message({ id: String(i), inbox: `inbox-${String(i % 300).padStart(3, '0')}` }),
    );
    const appended = await append(setup.store, many);
    await ack(setup.store, 'inbox-000', seqOf(appended[0]));
    await commit(setup.store, {
      settlements: [{ inbox: 'inbox-002', seq: seqOf(appended[2]), outcome: 'dead', reason: 'nobody' }],
    });
    const [late] = await append(setup.store, [message({ id: 'late', inbox: 'inbox-002#sub' })]);
    const size = 6;
    const [first, second, third] = [
      { inbox: 'inbox-000', pending: 9, bytes: 9 * size, oldestSeq: seqOf(appended[300]) },
      { inbox: 'inbox-001', pending: 10, bytes: 10 * size, oldestSeq: seqOf(appended[1]) },
      { inbox: 'inbox-002', pending: 9, bytes: 9 * size, oldestSeq: seqOf(appended[302]) },
    ];
    for (let restart = 0; restart < 2; restart++) {
      const { store } = setup;
      expect(await store.inboxBacklogs('', 2)).toEqual([first, second]);
      expect(await store.inboxBacklogs('inbox-001', 2)).toEqual([
        third,
        { inbox: 'inbox-002#sub', pending: 1, bytes: size, oldestSeq: seqOf(late) },
      ]);
      const all = await store.inboxBacklogs('', 1000);
      expect(all).toHaveLength(301);
      expect(all.reduce((sum, { pending }) => sum + pending, 0)).toBe(2999);
      expect(await store.inboxBacklogs('inbox-299', 9)).toEqual([]);
      expect(await store.dead.count()).toBe(1);
      await setup.reopen();
    }
    await setup.store.dead.drop(seqOf(appended[2]));
    expect(await setup.store.dead.count()).toBe(0);
  });

  it('finds every expired message in the end and no other one', async () => {
    await using setup = await open();
    const now = setup.now();
    const all = Array.from({ length: 5000 }, (_, i) =>
      message({ id: String(i), inbox: `inbox-${i % 7}`, expiresAt: i % 3 === 0 ? now + 10 : now + 1e6 }),
    );
    await append(setup.store, all);
    expect(await sweepAll(setup)).toEqual([]);
    setup.advance(10);
    const expired = await sweepAll(setup);
    const expected = all.filter(({ expiresAt }) => expiresAt === now + 10).map(({ id }) => id);
    expect(new Set(expired.map(({ id }) => id))).toEqual(new Set(expected));
    expect(expired[0]).not.toHaveProperty('body');
    await commit(setup.store, {
      settlements: expired.map(({ inbox, seq }) => ({ inbox, seq, outcome: 'expired' as const })),
    });
    expect(await sweepAll(setup)).toEqual([]);
  });

  it('tells a journal which messages are foreign to it, until none of them is pending', async () => {
    await using setup = await open();
    const [first, second] = (await append(setup.store, [message({ id: 'a' }), message({ id: 'b' })])).map(
      seqOf,
    ) as [number, number];
    const bind = async (...generations: string[]): Promise<[foreignUpTo: number, epoch: string]> => {
      const [previous, next] = [generations.slice(0, -1), generations.at(-1)!];
      const { foreignUpTo, epoch } = await setup.store.bindJournal('inbox', { previous, next });
      return [foreignUpTo, epoch];
    };
    expect(await bind('one')).toEqual([0, 'one']);
    await setup.reopen();
    expect(await bind('one', 'two')).toEqual([0, 'one']);
    // An epoch begins, although no message tells that something foreign was bound.
    expect(await bind('one', 'one again')).toEqual([second, 'one again']);
    const other = await setup.store.bindJournal('other', { previous: [], next: 'one' });
    expect(other).toEqual({ foreignUpTo: 0, epoch: 'one' });
    await setup.reopen();
    expect(await bind('lost', 'one again', 'three')).toEqual([second, 'one again']);
    await ack(setup.store, 'inbox', second);
    expect(await bind('three', 'four')).toEqual([second, 'one again']);
    await ack(setup.store, 'inbox', first);
    const [later] = await append(setup.store, [message({ id: 'c' })]);
    expect(await bind('four', 'five')).toEqual([0, 'one again']);
    expect(await bind('another')).toEqual([seqOf(later), 'another']);
  });

  it('recognises a journal that always has one generation, and finds messages foreign to another one', async () => {
    await using setup = await open();
    const [only] = await append(setup.store, [message({ id: 'a' })]);
    const bind = () => setup.store.bindJournal('inbox', { previous: [], next: 'shared' });
    const bound = { foreignUpTo: 0, epoch: 'shared' };
    expect([await bind(), await bind()]).toEqual([bound, bound]);
    const another = await setup.store.bindJournal('inbox', { previous: [], next: 'another' });
    expect(another).toEqual({ foreignUpTo: seqOf(only), epoch: 'another' });
    expect((await bind()).epoch).toBe('shared');
  });

  it('counts every message as foreign to a journal that was bound and is unknown here', async () => {
    await using setup = await open();
    const [only] = await append(setup.store, [message({ id: 'a' })]);
    const bound = await setup.store.bindJournal('inbox', { previous: ['one'], next: 'two' });
    expect(bound).toEqual({ foreignUpTo: seqOf(only), epoch: 'two' });
  });

  it('tells how much is stored, and the cap on it', async () => {
    await using setup = await open({ store: { bytes: 5_000_000 } });
    const before = await setup.store.usage();
    expect(before.maxBytes).toBe(5_000_000);
    await append(setup.store, [message({ id: 'a', body: 'x'.repeat(1_000_000) })]);
    expect((await setup.store.usage()).usedBytes).toBeGreaterThan(before.usedBytes + 900_000);
  });

  it('answers an empty commit', async () => {
    await using setup = await open();
    expect(await commit(setup.store, {})).toEqual([]);
    expect(setup.store.dedupeWindowMs).toBeGreaterThan(0);
  });
}
