import { expect, it } from 'vitest';
import { steadyTime } from '../expiry-time.ts';
import type { NewMessage } from '../message.ts';
import {
  ack,
  append,
  commit,
  ids,
  message,
  type OpenStore,
  type StoreUnderTest,
  seqOf,
} from './store-under-test.ts';

const day = 24 * 60 * 60 * 1000;

export function deadLetterTests(open: OpenStore): void {
  it('keeps a dead message whole, over a restart, with its reason and the attempts of its last commit', async () => {
    await using setup = await open();
    const full = message({ id: 'a', correlationId: 'c', traceparent: 't', thread: 'th' });
    const [appended] = await append(setup.store, [full]);
    const seq = seqOf(appended);
    await commit(setup.store, {
      attempts: [{ inbox: 'inbox', seq, attempts: 5 }],
      settlements: [{ inbox: 'inbox', seq, outcome: 'dead', reason: 'tried five times' }],
    });
    const { dead } = await setup.reopen();
    const { body, ...rest } = full;
    const listed = { ...rest, seq, attempts: 5, size: 6, deadAt: setup.now(), reason: 'tried five times' };
    expect(await dead.list(undefined, 0, 9)).toEqual([listed]);
    expect(await dead.find(seq)).toEqual({ ...listed, body });
    expect(await dead.find(seq + 1)).toBeUndefined();
    expect(await ids(setup.store, 'inbox')).toEqual([]);
  });

  it('lists dead letters by number, all or of one inbox, page by page', async () => {
    await using setup = await open();
    const seqs = await bury(setup, [
      message({ id: 'a' }),
      message({ id: 'b', inbox: 'other' }),
      message({ id: 'c' }),
    ]);
    const { dead } = setup.store;
    const list = async (inbox: string | undefined, after: number, limit: number) =>
      (await dead.list(inbox, after, limit)).map(({ id }) => id);
    expect(await list(undefined, 0, 9)).toEqual(['a', 'b', 'c']);
    expect(await list(undefined, 0, 2)).toEqual(['a', 'b']);
    expect(await list(undefined, seqs[1]!, 2)).toEqual(['c']);
    expect(await list('inbox', 0, 9)).toEqual(['a', 'c']);
    expect(await list('nobody', 0, 9)).toEqual([]);
  });

  it('takes a dead letter back as a new message of the same id, which its settled id does not hinder', async () => {
    await using setup = await open();
    const at = setup.now();
    const original = message({ id: 'a', createdAt: at, expiresAt: at + 5000, body: 'é' });
    const [seq] = await bury(setup, [original]);
    setup.advance(10_000);
    const retried = await setup.store.dead.retry(seq!, setup.now());
    expect(retried).toMatchObject({ result: 'stored', inbox: 'inbox' });
    const now = setup.now();
    const [read] = await (await setup.reopen()).read('inbox', 0, 9, 1e6);
    const times = { createdAt: now, expiresAt: now + 5000 };
    expect(read).toEqual({ ...original, ...times, seq: read?.seq, attempts: 0, size: 2 });
    expect(read?.seq).toBeGreaterThan(seq!);
    expect(await setup.store.stats('inbox')).toMatchObject({ pending: 1, bytes: 2 });
    expect(await setup.store.dead.retry(seq!, now)).toEqual({ result: 'unknown' });
    expect(await append(setup.store, [original])).toEqual([{ result: 'duplicate' }]);
    await ack(setup.store, 'inbox', read!.seq);
    expect(await setup.store.find('inbox', 'ann', 'a')).toMatchObject({ outcome: 'acked' });
  });

  it('gives a message that is put back the longer of its own lifetime and the least one', async () => {
    await using setup = await open();
    const at = setup.now();
    const brief = { createdAt: at, expiresAt: at + 5000, openUntil: at + 6000 };
    const seqs = await bury(setup, [message({ id: 'a', ...brief }), message({ id: 'b', ...brief })]);
    setup.advance(10_000);
    const now = setup.now();
    for (const [n, seq] of seqs.entries()) await setup.store.dead.retry(seq, now, [60_000, 3000][n]);
    expect(await (await setup.reopen()).read('inbox', 0, 9, 1e6)).toMatchObject([
      { id: 'a', createdAt: now, expiresAt: now + 60_000, openUntil: now + 61_000 },
      { id: 'b', createdAt: now, expiresAt: now + 5000, openUntil: now + 6000 },
    ]);
  });

  it('leaves a dead letter where it is when its inbox is full, and takes it when there is room', async () => {
    await using setup = await open({ inbox: { messages: 1 } });
    const [seq] = await bury(setup, [message({ id: 'a' })]);
    const [other] = await append(setup.store, [message({ id: 'b' })]);
    const { dead } = setup.store;
    expect(await dead.retry(seq!, setup.now())).toEqual({ result: 'inbox_full' });
    expect(await dead.find(seq!)).toBeDefined();
    await ack(setup.store, 'inbox', seqOf(other));
    expect(await dead.retry(seq!, setup.now())).toMatchObject({ result: 'stored' });
  });

  it('drops a dead letter once, and its neighbour never', async () => {
    await using setup = await open();
    const [first, second] = await bury(setup, [message({ id: 'a' }), message({ id: 'b' })]);
    const { dead } = setup.store;
    expect(await dead.drop(first!)).toBe(true);
    expect(await dead.drop(first!)).toBe(false);
    expect((await dead.list(undefined, 0, 9)).map(({ seq }) => seq)).toEqual([second]);
  });

  it('lets dead letters go after thirty days, and tells which', async () => {
    await using setup = await open();
    await bury(setup, [message({ id: 'old' })]);
    setup.advance(29 * day);
    await bury(setup, [message({ id: 'new' })]);
    const { dead } = setup.store;
    expect(await dead.trim(steadyTime(setup.now()))).toEqual([]);
    setup.advance(2 * day);
    expect((await dead.trim(steadyTime(setup.now()))).map(({ id }) => id)).toEqual(['old']);
    expect((await dead.list(undefined, 0, 9)).map(({ id }) => id)).toEqual(['new']);
  });
}

async function bury({ store }: StoreUnderTest, messages: NewMessage[]): Promise<number[]> {
  const seqs = (await append(store, messages)).map(seqOf);
  const settlements = messages.map(({ inbox }, i) => ({ inbox, seq: seqs[i]!, outcome: 'dead' as const }));
  await commit(store, { settlements });
  return seqs;
}
