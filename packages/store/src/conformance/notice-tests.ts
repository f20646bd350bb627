import { expect, it } from 'vitest';
import type { NewMessage } from '../message.ts';
import { ack, append, commit, ids, message, type OpenStore, seqOf } from './store-under-test.ts';

export function noticeTests(open: OpenStore): void {
  it('stores a notice with the settlement that takes effect, and once only', async () => {
    await using setup = await open();
    const [appended] = await append(setup.store, [message({ id: 'a' })]);
    const settlement = {
      inbox: 'inbox',
      seq: seqOf(appended),
      outcome: 'expired' as const,
      notice: notice(),
    };
    await commit(setup.store, { settlements: [settlement, settlement] });
    await commit(setup.store, { settlements: [settlement] });
    const [read, ...more] = await (await setup.reopen()).read('ann#one', 0, 9, 1e6);
    expect(read).toMatchObject({ ...notice(), attempts: 0, size: 6 });
    expect(more).toEqual([]);
    expect(await setup.store.find('inbox', 'ann', 'a')).toMatchObject({ outcome: 'expired' });
    expect(await setup.store.stats('ann#one')).toMatchObject({ pending: 1, bytes: 6 });
  });

  it('stores no notice of a message that was settled before, or in the same commit by its reply', async () => {
    await using setup = await open();
    const { store } = setup;
    const [first, second] = (await append(store, [message({ id: 'a' }), message({ id: 'b' })])).map(seqOf);
    await ack(store, 'inbox', first!);
    const reply = message({
      id: 're:b',
      inbox: 'ann#one',
      sender: 'bob',
      settles: { inbox: 'inbox', seq: second! },
    });
    await commit(store, {
      messages: [reply],
      settlements: [first!, second!].map((seq) => ({
        inbox: 'inbox',
        seq,
        outcome: 'dead' as const,
        notice: notice(`re:${seq}`),
      })),
    });
    expect(await ids(store, 'ann#one')).toEqual(['re:b']);
    expect(await store.dead.list(undefined, 0, 9)).toEqual([]);
  });

  it('never stores a notice again under an id that was used, settled or not', async () => {
    await using setup = await open();
    const { store } = setup;
    for (const id of ['a', 'b', 'c']) {
      const [appended] = await append(store, [message({ id })]);
      const settlements = [
        { inbox: 'inbox', seq: seqOf(appended), outcome: 'dead' as const, notice: notice() },
      ];
      await commit(store, { settlements });
      if (id === 'b') await ack(store, 'ann#one', (await store.stats('ann#one')).headSeq);
    }
    expect(await ids(store, 'ann#one')).toEqual([]);
    expect(await store.find('ann#one', 'broker', 're:a')).toMatchObject({ outcome: 'acked' });
  });

  it('settles without its notice where that finds its inbox full', async () => {
    await using setup = await open({ inbox: { messages: 3 } });
    const { store } = setup;
    const requests = ['a', 'b', 'c', 'd'].map((id) => message({ id, sender: id }));
    const settle = async (request: NewMessage) => {
      const [appended] = await append(store, [request]);
      const settlement = { inbox: 'inbox', seq: seqOf(appended), outcome: 'expired' as const };
      await commit(store, { settlements: [{ ...settlement, notice: notice(`re:${request.id}`) }] });
    };
    for (const request of requests) await settle(request);
    expect(await ids(store, 'ann#one')).toEqual(['re:a', 're:b', 're:c']);
    expect(await ids(store, 'inbox')).toEqual([]);
  });

  it('counts a notice for its recipient, and leaves it out where that has all it may have', async () => {
    await using setup = await open({ recipient: { messages: 2 } });
    const { store } = setup;
    for (const id of ['a', 'b', 'c']) {
      const [appended] = await append(store, [message({ id })]);
      const settlement = { inbox: 'inbox', seq: seqOf(appended), outcome: 'expired' as const };
      await commit(store, { settlements: [{ ...settlement, notice: notice(`re:${id}`) }] });
    }
    expect(await ids(store, 'ann#one')).toEqual(['re:a', 're:b']);
    expect(await ids(store, 'inbox')).toEqual([]);
  });

  it('finds unsettled messages by the token they were sent with', async () => {
    await using setup = await open();
    const appended = await append(setup.store, [
      message({ id: 'a', tokenId: 't1' }),
      message({ id: 'b', tokenId: 't2' }),
      message({ id: 'c', tokenId: 't1', inbox: 'other' }),
      message({ id: 'd', tokenId: 't1' }),
      message({ id: 'e' }),
    ]);
    await ack(setup.store, 'inbox', seqOf(appended[3]));
    const store = await setup.reopen();
    expect((await store.sentWith('t1', 9)).map(({ id }) => id)).toEqual(['a', 'c']);
    expect((await store.sentWith('t1', 1)).map(({ id }) => id)).toEqual(['a']);
    expect(await store.sentWith('t3', 9)).toEqual([]);
  });
}

function notice(id = 're:a'): NewMessage {
  return message({ id, inbox: 'ann#one', sender: 'broker', senderAddress: 'broker', kind: 'undeliverable' });
}
