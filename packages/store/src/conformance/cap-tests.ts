import { expect, it } from 'vitest';
import type { SenderCaps } from '../caps.ts';
import type { NewMessage } from '../message.ts';
import { ack, append, commit, message, type OpenStore, seqOf } from './store-under-test.ts';

/** Returns the quota of a sender with some caps, and without the others. */
function quotaOf(caps: Partial<SenderCaps>): SenderCaps {
  const none = { messages: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
  return { sender: none, senderToRecipient: none, ...caps };
}

export function capTests(open: OpenStore): void {
  it('holds each cap of an inbox within one commit, and lets other inboxes on', async () => {
    await using setup = await open({ inbox: { messages: 3, bytes: 1000 } });
    const { store } = setup;
    const results = await append(store, [
      ...['a', 'b', 'c', 'd'].map((id) => message({ id })),
      message({ id: 'a', inbox: 'other', body: 'x'.repeat(600) }),
      message({ id: 'b', inbox: 'other', body: 'x'.repeat(401) }),
      message({ id: 'c', inbox: 'other', body: 'x'.repeat(400) }),
    ]);
    expect(results.map(({ result }) => result)).toEqual([
      'stored',
      'stored',
      'stored',
      'inbox_full',
      'stored',
      'inbox_full',
      'stored',
    ]);
    expect(await store.stats('inbox')).toMatchObject({ pending: 3, bytes: 18 });
    expect(await store.stats('other')).toMatchObject({ pending: 2, bytes: 1000 });
  });

  it('counts bytes, not characters', async () => {
    await using setup = await open({ inbox: { bytes: 10 } });
    const results = await append(setup.store, [
      message({ id: 'a', body: 'ééé' }),
      message({ id: 'b', body: 'ééé' }),
    ]);
    expect(results.map(({ result }) => result)).toEqual(['stored', 'inbox_full']);
    expect(await setup.store.stats('inbox')).toMatchObject({ bytes: 6 });
  });

  it('stops one sender at one recipient, over all inboxes of it, and lets another one in', async () => {
    await using setup = await open();
    const { store } = setup;
    const quota = quotaOf({ senderToRecipient: { messages: 2, bytes: 20 } });
    const results = await append(store, [
      message({ id: 'a', quota }),
      message({ id: 'b', inbox: 'inbox#x', quota }),
      message({ id: 'c', inbox: 'inbox#y', quota }),
      message({ id: 'c', sender: 'eve', quota }),
      message({ id: 'c', inbox: 'other', quota }),
      message({ id: 'd' }),
      message({ id: 'd', inbox: 'other', quota, body: 'x'.repeat(15) }),
    ]);
    expect(results).toMatchObject([
      { result: 'stored' },
      { result: 'stored' },
      { result: 'quota_exceeded', of: 'senderToRecipient', unit: 'messages' },
      { result: 'stored' },
      { result: 'stored' },
      { result: 'stored' },
      { result: 'quota_exceeded', of: 'senderToRecipient', unit: 'bytes' },
    ]);
    await setup.reopen();
    const again = message({ id: 'c', inbox: 'inbox#y', quota });
    expect(await append(setup.store, [again])).toMatchObject([{ result: 'quota_exceeded' }]);
    await ack(setup.store, 'inbox', seqOf(results[0]));
    expect(await append(setup.store, [again])).toMatchObject([{ result: 'stored' }]);
  });

  it('counts what one sender has in all inboxes, dead letters too, until it is settled or dropped, over restarts', async () => {
    await using setup = await open();
    const quota = quotaOf({ sender: { messages: 4, bytes: 100 } });
    const inboxes = ['a', 'b#1', 'c', 'd'];
    const sent = await append(
      setup.store,
      inboxes.map((inbox) => message({ id: inbox[0]!, inbox, quota })),
    );
    const next = () => append(setup.store, [message({ id: 'next', inbox: 'e', quota })]);
    const full = [{ result: 'quota_exceeded', of: 'sender', unit: 'messages' }];
    expect(await next()).toEqual(full);
    await commit(setup.store, { settlements: [{ inbox: 'a', seq: seqOf(sent[0]), outcome: 'dead' }] });
    expect(await next()).toEqual(full);
    await setup.reopen();
    expect(await next()).toEqual(full);
    expect(await setup.store.dead.retry(seqOf(sent[0]), setup.now())).toMatchObject({ result: 'stored' });
    expect(await next()).toEqual(full);
    await commit(setup.store, { settlements: [{ inbox: 'c', seq: seqOf(sent[2]), outcome: 'dead' }] });
    expect(await setup.store.dead.drop(seqOf(sent[2]))).toBe(true);
    expect(
      await append(setup.store, [message({ id: 'big', inbox: 'e', quota, body: 'x'.repeat(83) })]),
    ).toEqual([{ result: 'quota_exceeded', of: 'sender', unit: 'bytes' }]);
    expect(await next()).toMatchObject([{ result: 'stored' }]);
    expect(await next()).toEqual([{ result: 'duplicate' }]);
    // A reply does not count against its sender, so it is stored.
    expect(await append(setup.store, [message({ id: 'reply', inbox: 'e' })])).toMatchObject([
      { result: 'stored' },
    ]);
  });

  it('counts what all senders have stored for one recipient, over all its inboxes', async () => {
    await using setup = await open({ recipient: { messages: 3, bytes: 50 } });
    const quota = quotaOf({});
    const sent = await append(setup.store, [
      message({ id: 'a', quota }),
      message({ id: 'b', inbox: 'inbox#x', sender: 'eve', quota }),
      message({ id: 'c', inbox: 'inbox#y', sender: 'broker' }),
    ]);
    const next = (body = '"body"') =>
      append(setup.store, [
        message({ id: 'next', sender: 'kim', quota, body }),
        message({ id: 'x', inbox: 'other', quota }),
      ]);
    const full = { result: 'quota_exceeded', of: 'recipient', unit: 'messages' };
    expect(await next()).toMatchObject([full, { result: 'stored' }]);
    await setup.reopen();
    expect(await next()).toEqual([full, { result: 'duplicate' }]);
    await ack(setup.store, 'inbox#y', seqOf(sent[2]));
    expect(await next('x'.repeat(40))).toMatchObject([{ ...full, unit: 'bytes' }, {}]);
    expect(await next()).toMatchObject([{ result: 'stored' }, {}]);
    await setup.reopen();
    expect(await setup.store.stats('inbox')).toMatchObject({ pending: 2, bytes: 12 });
  });

  it('counts what a commit refuses neither way, nor what it stores and settles at once', async () => {
    await using setup = await open({ inbox: { messages: 1 } });
    const quota = quotaOf({ sender: { messages: 2, bytes: 100 } });
    for (let round = 0; round < 5; round++) {
      const results = await append(setup.store, [
        message({ id: `a${round}`, quota }),
        message({ id: `b${round}`, quota }),
      ]);
      expect(results).toMatchObject([{ result: 'stored' }, { result: 'inbox_full' }]);
      await ack(setup.store, 'inbox', seqOf(results[0]));
      if (round === 2) await setup.reopen();
    }
  });

  it('recognises a repeat in a full inbox, too', async () => {
    await using setup = await open({ inbox: { messages: 1 } });
    await append(setup.store, [message({ id: 'a' })]);
    const repeats = [message({ id: 'a' }), message({ id: 'a', body: '"other"' }), message({ id: 'b' })];
    const results = await append(setup.store, repeats);
    expect(results.map(({ result }) => result)).toEqual(['duplicate', 'id_conflict', 'inbox_full']);
  });

  it('keeps the reserve for messages without a quota', async () => {
    await using setup = await open({ store: { bytes: 4 * 1024 * 1024, reservePercent: 50 } });
    const body = 'x'.repeat(1024 * 1024);
    const quota = quotaOf({});
    const results = await append(setup.store, [
      message({ id: 'a', body, quota }),
      message({ id: 'b', body, quota }),
      message({ id: 'c', body }),
      message({ id: 'd', body, quota }),
    ]);
    expect(results.map(({ result }) => result)).toEqual(['stored', 'storage_full', 'stored', 'storage_full']);
  });

  it('keeps the reserve of an inbox and of a recipient for messages without a quota, and for notices', async () => {
    const amount = { messages: 20, bytes: 2000 };
    for (const [caps, result] of [
      [{ inbox: amount }, 'inbox_full'],
      [{ recipient: amount }, 'quota_exceeded'],
    ] as const) {
      await using setup = await open({ ...caps, store: { reservePercent: 10 } });
      const { store } = setup;
      const quota = quotaOf({});
      const send = async (id: string, more: Partial<NewMessage> = {}) => {
        const [appended] = await append(store, [message({ id, quota, body: '1', ...more })]);
        return appended?.result;
      };
      expect(await send('large', { body: 'x'.repeat(1801) })).toBe(result);
      expect(await send('large', { body: 'x'.repeat(1801), quota: undefined })).toBe('stored');
      await ack(store, 'inbox', (await store.stats('inbox')).headSeq);
      for (let i = 0; i < 18; i++) expect(await send(`m${i}`, { sender: `sender${i}` })).toBe('stored');
      expect(await send('ordinary')).toBe(result);
      await setup.reopen();
      const [request] = await append(setup.store, [message({ id: 'q', inbox: 'other', quota })]);
      const notice = message({ id: 're:q', sender: 'broker' });
      await commit(setup.store, {
        settlements: [{ inbox: 'other', seq: seqOf(request), outcome: 'expired', notice }],
      });
      expect(await append(setup.store, [message({ id: 'ordinary', quota })])).toMatchObject([{ result }]);
      expect(await append(setup.store, [message({ id: 'reply' })])).toMatchObject([{ result: 'stored' }]);
      expect(await append(setup.store, [message({ id: 'reply2' })])).toMatchObject([{ result }]);
      expect((await setup.store.stats('inbox')).pending).toBe(20);
    }
  });

  it('refuses what does not fit in all, and still settles', async () => {
    await using setup = await open({ store: { bytes: 2 * 1024 * 1024 } });
    const { store } = setup;
    const big = 'x'.repeat(1024 * 1024);
    const results = await append(
      store,
      ['a', 'b', 'c'].map((id) => message({ id, inbox: id, body: big })),
    );
    expect(results.map(({ result }) => result)).toEqual(['stored', 'storage_full', 'storage_full']);
    await ack(store, 'a', seqOf(results[0]));
    expect(await append(store, [message({ id: 'b', body: big })])).toMatchObject([{ result: 'stored' }]);
  });
}
