import { expect, it } from 'vitest';
import { ack, append, message, type OpenStore, seqOf } from './store-under-test.ts';

export function capTests(open: OpenStore): void {
  it('holds each cap of an inbox within one commit, and lets other inboxes on', async () => {
    await using setup = await open({ maxInboxMessages: 3, maxInboxBytes: 1000 });
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
    await using setup = await open({ maxInboxBytes: 10 });
    const results = await append(setup.store, [
      message({ id: 'a', body: 'ééé' }),
      message({ id: 'b', body: 'ééé' }),
    ]);
    expect(results.map(({ result }) => result)).toEqual(['stored', 'inbox_full']);
    expect(await setup.store.stats('inbox')).toMatchObject({ bytes: 6 });
  });

  it('stops one sender at its quota and lets another one in', async () => {
    await using setup = await open({ maxPendingPerSender: 2 });
    const { store } = setup;
    const results = await append(store, [
      ...['a', 'b', 'c'].map((id) => message({ id })),
      message({ id: 'c', sender: 'eve' }),
      message({ id: 'c', inbox: 'other' }),
    ]);
    expect(results.map(({ result }) => result)).toEqual([
      'stored',
      'stored',
      'quota_exceeded',
      'stored',
      'stored',
    ]);
    await setup.reopen();
    expect(await append(setup.store, [message({ id: 'c' })])).toEqual([{ result: 'quota_exceeded' }]);
    await ack(setup.store, 'inbox', seqOf(results[0]));
    expect(await append(setup.store, [message({ id: 'c' })])).toMatchObject([{ result: 'stored' }]);
  });

  it('tells a repeat as such in a full inbox too', async () => {
    await using setup = await open({ maxInboxMessages: 1 });
    await append(setup.store, [message({ id: 'a' })]);
    const repeats = [message({ id: 'a' }), message({ id: 'a', body: '"other"' }), message({ id: 'b' })];
    const results = await append(setup.store, repeats);
    expect(results.map(({ result }) => result)).toEqual(['duplicate', 'id_conflict', 'inbox_full']);
  });

  it('refuses what does not fit in all, and still settles', async () => {
    await using setup = await open({ maxTotalBytes: 2 * 1024 * 1024 });
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
