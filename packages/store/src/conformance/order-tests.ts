import { expect, it } from 'vitest';
import { ack, append, forgetAll, ids, message, type OpenStore, seqOf } from './store-under-test.ts';

export function orderTests(open: OpenStore): void {
  it('numbers the messages of an inbox in the order of their commits', async () => {
    await using setup = await open();
    const { store } = setup;
    const first = await append(store, [message({ id: 'a' }), message({ id: 'b', inbox: 'other' })]);
    const second = await append(store, [message({ id: 'c' }), message({ id: 'd' })]);
    const seqs = [...first, ...second].map(seqOf);
    expect(seqs).toEqual([...seqs].sort((x, y) => x - y));
    expect(await ids(store, 'inbox')).toEqual(['a', 'c', 'd']);
    expect(await ids(store, 'other')).toEqual(['b']);
  });

  it('reads after a sequence number, up to a number of messages or bytes, and at least one', async () => {
    await using setup = await open();
    const { store } = setup;
    const appended = await append(
      store,
      ['a', 'b', 'c', 'd'].map((id) => message({ id, body: '12345' })),
    );
    const after = seqOf(appended[0]);
    expect(await ids(store, 'inbox', after)).toEqual(['b', 'c', 'd']);
    expect((await store.read('inbox', 0, 2, 1e6)).map(({ id }) => id)).toEqual(['a', 'b']);
    expect((await store.read('inbox', 0, 9, 10)).map(({ id }) => id)).toEqual(['a', 'b']);
    expect((await store.read('inbox', 0, 9, 1)).map(({ id }) => id)).toEqual(['a']);
    expect(await store.read('inbox', 0, 0, 1e6)).toEqual([]);
    expect(await store.read('nobody', 0, 9, 1e6)).toEqual([]);
  });

  it('gives a sequence number to one message of the whole store, and not to one of each inbox', async () => {
    await using setup = await open();
    const inboxes = ['a', 'b', 'c'];
    const together = await append(
      setup.store,
      inboxes.map((inbox) => message({ id: 'together', inbox })),
    );
    const seqs = together.map(seqOf);
    for (const inbox of inboxes) {
      const [appended] = await append(setup.store, [message({ id: 'alone', inbox })]);
      seqs.push(seqOf(appended));
    }
    const store = await setup.reopen();
    const [appended] = await append(store, [message({ id: 'reopened', inbox: 'd' })]);
    seqs.push(seqOf(appended));
    expect(new Set(seqs).size).toBe(7);
  });

  it('never gives a sequence number twice, also when all was settled, forgotten and reopened', async () => {
    await using setup = await open();
    let highest = 0;
    for (let round = 0; round < 4; round++) {
      const [appended] = await append(setup.store, [message({ id: `round-${round}` })]);
      expect(seqOf(appended)).toBeGreaterThan(highest);
      highest = seqOf(appended);
      await ack(setup.store, 'inbox', highest);
      if (round === 1) await forgetAll(setup);
      await setup.reopen();
    }
  });

  it('keeps everything over a restart', async () => {
    await using setup = await open();
    const identity = await setup.store.identity();
    await append(setup.store, [message({ id: 'a' }), message({ id: 'b' })]);
    const before = await setup.store.read('inbox', 0, 9, 1e6);
    const reopened = await setup.reopen();
    expect(await reopened.read('inbox', 0, 9, 1e6)).toEqual(before);
    expect(await reopened.identity()).toBe(identity);
    expect(identity).not.toBe('');
  });
}
