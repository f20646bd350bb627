import { expect, it } from 'vitest';
import type { NewMessage } from '../message.ts';
import {
  ack,
  append,
  bodies,
  forgetAll,
  ids,
  message,
  type OpenStore,
  seqOf,
  sweepAll,
} from './store-under-test.ts';

export function repeatTests(open: OpenStore): void {
  it('recognises a repeat while the first is unsettled, settled, and after a restart', async () => {
    await using setup = await open();
    const original = message({ id: 'a' });
    const [stored] = await append(setup.store, [original]);
    expect(await append(setup.store, [original])).toEqual([{ result: 'duplicate' }]);
    await setup.reopen();
    expect(await append(setup.store, [original])).toEqual([{ result: 'duplicate' }]);
    await ack(setup.store, 'inbox', seqOf(stored));
    expect(await append(setup.store, [original])).toEqual([{ result: 'duplicate' }]);
    await setup.reopen();
    setup.advance(setup.store.dedupeWindowMs - 1);
    await sweepAll(setup);
    expect(await append(setup.store, [original])).toEqual([{ result: 'duplicate' }]);
    expect(await ids(setup.store, 'inbox')).toEqual([]);
    expect(await append(setup.store, [message({ id: 'b' })])).toMatchObject([{ result: 'stored' }]);
  });

  it('recognises a repeat within one commit', async () => {
    await using setup = await open();
    const results = await append(setup.store, [
      message({ id: 'a' }),
      message({ id: 'a' }),
      message({ id: 'b' }),
    ]);
    expect(results.map(({ result }) => result)).toEqual(['stored', 'duplicate', 'stored']);
  });

  it('recognises ids that come in no order at all', async () => {
    await using setup = await open();
    const all = Array.from({ length: 300 }, (_, i) => `${((i * 7919) % 1000).toString(36)}-${i}`);
    const stored = await append(
      setup.store,
      all.map((id) => message({ id })),
    );
    for (const appended of stored) await ack(setup.store, 'inbox', seqOf(appended));
    await setup.reopen();
    const repeated = await append(
      setup.store,
      all.map((id) => message({ id })),
    );
    expect(new Set(repeated.map(({ result }) => result))).toEqual(new Set(['duplicate']));
    const fresh = await append(
      setup.store,
      all.map((id) => message({ id: `${id}!` })),
    );
    expect(new Set(fresh.map(({ result }) => result))).toEqual(new Set(['stored']));
  });

  it('keeps the ids of two senders and of two inboxes apart', async () => {
    await using setup = await open();
    const { store } = setup;
    const all = [
      message({ id: 'a' }),
      message({ id: 'a', sender: 'eve' }),
      message({ id: 'a', inbox: 'other' }),
    ];
    const appended = await append(store, all);
    expect(appended.map(({ result }) => result)).toEqual(['stored', 'stored', 'stored']);
    await ack(store, 'inbox', seqOf(appended[0]));
    expect(await store.find('inbox', 'ann', 'a')).toMatchObject({ outcome: 'acked' });
    expect((await store.find('inbox', 'eve', 'a'))?.outcome).toBeUndefined();
    const found = await store.findOfAnySender('inbox', 'a', 9);
    expect(new Set(found.map(({ outcome }) => outcome))).toEqual(new Set([undefined, 'acked']));
    expect(found).toHaveLength(2);
    expect(await store.findOfAnySender('inbox', 'a', 1)).toHaveLength(1);
    expect(await store.findOfAnySender('inbox', 'b', 9)).toEqual([]);
    expect(await append(store, [message({ id: 'a', sender: 'kim' })])).toMatchObject([{ result: 'stored' }]);
  });

  it.each([
    ['another kind', { kind: 'task' }],
    ['another correlation id', { correlationId: 'x' }],
    ['another body', { body: '"other"' }],
    ['no body', { body: undefined }],
  ])('calls an unsettled id with %s a conflict, and the same content a duplicate', async (_, change) => {
    await using setup = await open();
    await append(setup.store, [message({ id: 'a' })]);
    const changed = { ...message({ id: 'a' }), ...change } as NewMessage;
    const repeat = message({ id: 'a', createdAt: 99, traceparent: 'other', senderAddress: 'ann#two' });
    const results = await append(setup.store, [changed, repeat]);
    expect(results).toEqual([{ result: 'id_conflict' }, { result: 'duplicate' }]);
    expect(await bodies(setup.store, 'inbox')).toEqual(['"body"']);
  });

  it('tells a missing body from an empty one', async () => {
    await using setup = await open();
    const { body: _, ...bodiless } = message({ id: 'a' });
    await append(setup.store, [bodiless]);
    expect(await append(setup.store, [{ ...bodiless, body: '' }])).toEqual([{ result: 'id_conflict' }]);
    expect(await append(setup.store, [bodiless])).toEqual([{ result: 'duplicate' }]);
  });

  it('forgets settled ids in the end, and only settled ones', async () => {
    await using setup = await open();
    const [first] = await append(setup.store, [message({ id: 'a' }), message({ id: 'pending' })]);
    await ack(setup.store, 'inbox', seqOf(first));
    await forgetAll(setup);
    const again = await append(setup.store, [message({ id: 'a' }), message({ id: 'pending' })]);
    expect(again.map(({ result }) => result)).toEqual(['stored', 'duplicate']);
    expect(seqOf(again[0])).toBeGreaterThan(seqOf(first));
  });
}
