import { expect, it } from 'vitest';
import type { NewMessage } from '../message.ts';
import { ack, append, commit, ids, message, type OpenStore, seqOf } from './store-under-test.ts';

export function settlementTests(open: OpenStore): void {
  it('finds a message before and after it is settled, with its outcome', async () => {
    await using setup = await open();
    const { store } = setup;
    const outcomes = ['acked', 'expired', 'cancelled', 'dead'] as const;
    const appended = await append(
      store,
      outcomes.map((id) => message({ id })),
    );
    expect(await store.find('inbox', 'ann', 'acked')).toEqual({
      seq: seqOf(appended[0]),
      kind: 'note',
      senderAddress: 'ann#one',
    });
    const settlements = outcomes.map((outcome, i) => ({
      inbox: 'inbox',
      seq: seqOf(appended[i]),
      outcome,
      reason: 'why',
    }));
    await commit(store, { settlements });
    for (const outcome of outcomes)
      expect(await store.find('inbox', 'ann', outcome)).toMatchObject({ outcome });
    expect(await store.stats('inbox')).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
    expect(await store.find('inbox', 'ann', 'unknown')).toBeUndefined();
  });

  it('settles once: the first outcome stays, an unknown number changes nothing', async () => {
    await using setup = await open();
    const { store } = setup;
    const [appended] = await append(store, [message({ id: 'a' }), message({ id: 'b' })]);
    await ack(store, 'inbox', seqOf(appended));
    await commit(store, {
      settlements: [
        { inbox: 'inbox', seq: seqOf(appended), outcome: 'dead', reason: 'late' },
        { inbox: 'inbox', seq: seqOf(appended) + 1_000_000, outcome: 'acked' },
      ],
    });
    expect(await store.find('inbox', 'ann', 'a')).toMatchObject({ outcome: 'acked' });
    expect(await store.stats('inbox')).toMatchObject({ pending: 1, bytes: 6 });
  });

  it('changes nothing for a number of another inbox, although it lies between numbers of this one', async () => {
    await using setup = await open();
    const { store } = setup;
    const inboxes = ['inbox', 'other', 'inbox', 'other'];
    const appended = await append(
      store,
      inboxes.map((inbox, i) => message({ id: String(i), inbox })),
    );
    const seqs = appended.map(seqOf);
    await commit(store, {
      attempts: [{ inbox: 'inbox', seq: seqs[1]!, attempts: 3 }],
      settlements: [
        { inbox: 'inbox', seq: seqs[1]!, outcome: 'dead' },
        { inbox: 'other', seq: seqs[2]!, outcome: 'dead' },
      ],
    });
    expect(await store.dead.list(undefined, 0, 9)).toEqual([]);
    for (const inbox of ['inbox', 'other']) {
      const expected = seqs.filter((_, i) => inboxes[i] === inbox).map((seq) => ({ seq, attempts: 0 }));
      expect(await store.read(inbox, 0, 9, 1e6)).toMatchObject(expected);
      expect(await store.stats(inbox)).toMatchObject({ pending: 2 });
    }
  });

  it('finds what was tried and what is asked for by number, of one inbox and unsettled only', async () => {
    await using setup = await open();
    const { store } = setup;
    const names = ['tried', 'asked', 'settled', 'fresh'];
    const appended = await append(store, [
      ...names.map((id) => message({ id })),
      message({ id: 'elsewhere', inbox: 'other' }),
    ]);
    const [tried, asked, settled, , elsewhere] = appended.map(seqOf);
    await commit(store, {
      attempts: [
        { inbox: 'inbox', seq: tried!, attempts: 2 },
        { inbox: 'inbox', seq: settled!, attempts: 1 },
        { inbox: 'other', seq: elsewhere!, attempts: 1 },
      ],
      settlements: [{ inbox: 'inbox', seq: settled!, outcome: 'acked' }],
    });
    const found = await store.tried('inbox', [asked!, settled!, elsewhere!], 9);
    expect(found).toMatchObject([
      { id: 'tried', attempts: 2 },
      { id: 'asked', attempts: 0 },
    ]);
    expect(found[0]).not.toHaveProperty('body');
    expect((await store.tried('inbox', [asked!], 1)).map(({ id }) => id)).toEqual(['tried']);
    expect(await store.tried('inbox', [], 9)).toHaveLength(1);
    expect(await store.tried('nobody', [], 9)).toEqual([]);
  });

  it('ignores a settlement and an attempt that name the wrong inbox', async () => {
    await using setup = await open();
    const { store } = setup;
    const [appended] = await append(store, [message({ id: 'a' })]);
    const seq = seqOf(appended);
    await append(store, [message({ id: 'r', inbox: 'ann', settles: { inbox: 'other', seq } })]);
    for (const outcome of ['acked', 'dead'] as const) {
      await commit(store, { settlements: [{ inbox: 'other', seq, outcome }] });
    }
    await commit(store, { attempts: [{ inbox: 'other', seq, attempts: 7 }] });
    expect(await store.read('inbox', 0, 9, 1e6)).toMatchObject([{ id: 'a', attempts: 0 }]);
    await ack(store, 'inbox', seq);
    expect(await ids(store, 'inbox')).toEqual([]);
  });

  it('settles a request in the commit that stores its reply, and again when the reply is a repeat or a conflict', async () => {
    await using setup = await open();
    const { store } = setup;
    const settles = async (seq: number, change: Partial<NewMessage> = {}) => {
      const reply = message({
        id: 're:a',
        inbox: 'ann',
        sender: 'bob',
        settles: { inbox: 'inbox', seq },
        ...change,
      });
      const [appended] = await append(store, [reply]);
      return [appended?.result, (await ids(store, 'inbox')).length];
    };
    const requests = await append(
      store,
      ['a', 'b', 'c'].map((id) => message({ id })),
    );
    expect(await settles(seqOf(requests[0]))).toEqual(['stored', 2]);
    expect(await settles(seqOf(requests[1]))).toEqual(['duplicate', 1]);
    expect(await settles(seqOf(requests[2]), { body: '"changed"' })).toEqual(['id_conflict', 0]);
  });

  it('leaves a request alone when its reply is refused', async () => {
    await using setup = await open({ inbox: { messages: 1 } });
    const { store } = setup;
    const [request] = await append(store, [message({ id: 'a' }), message({ id: 'x', inbox: 'ann' })]);
    const reply = message({ id: 're:a', inbox: 'ann', settles: { inbox: 'inbox', seq: seqOf(request) } });
    expect(await append(store, [reply])).toEqual([{ result: 'inbox_full' }]);
    expect(await ids(store, 'inbox')).toEqual(['a']);
  });

  it('remembers attempts', async () => {
    await using setup = await open();
    const [appended] = await append(setup.store, [message({ id: 'a' })]);
    await commit(setup.store, { attempts: [{ inbox: 'inbox', seq: seqOf(appended), attempts: 3 }] });
    expect(await (await setup.reopen()).read('inbox', 0, 9, 1e6)).toMatchObject([
      { attempts: 3, body: '"body"' },
    ]);
  });
}
