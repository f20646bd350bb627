import { expect, it } from 'vitest';
import type { NewMessage } from '../message.ts';
import { ack, append, ids, message, type OpenStore, type StoreUnderTest, seqOf } from './store-under-test.ts';

const sentAt = 1_700_000_000_000;
const minute = 60_000;

export function scheduledTests(open: OpenStore): void {
  it('keeps a scheduled message out of its inbox until it is released, over a restart, with all that it says', async () => {
    await using setup = await open();
    const full = later({ id: 'a', correlationId: 'c', traceparent: 't', group: { key: 'k' }, thread: 'x' });
    expect(await append(setup.store, [full])).toEqual([{ result: 'scheduled' }]);
    expect(await ids(setup.store, 'inbox')).toEqual([]);
    expect(await setup.store.stats('inbox')).toEqual({ pending: 0, bytes: 0, headSeq: 0 });
    expect(await setup.store.backlog()).toEqual({ pending: 0, dead: 0, scheduled: 1 });
    const store = await setup.reopen();
    expect(await store.scheduled.nextDueAt()).toBe(full.createdAt);
    expect(await store.scheduled.due(full.createdAt - 1, 9, 1e6)).toEqual([]);
    const [released] = await releaseAll(store, full.createdAt);
    const { scheduledAt: _, ...rest } = full;
    const seq = seqOf(released);
    expect(await store.read('inbox', 0, 9, 1e6)).toEqual([{ ...rest, seq, size: 6, attempts: 0 }]);
    expect(await store.scheduled.nextDueAt()).toBeUndefined();
    expect(await store.scheduled.count()).toBe(0);
  });

  it('releases messages by the time at which they are due, and gives them sequence numbers then', async () => {
    await using setup = await open();
    const { store } = setup;
    await append(store, [
      later({ id: 'third' }, 30),
      later({ id: 'first' }, 10),
      later({ id: 'second' }, 20),
    ]);
    await append(store, [message({ id: 'plain' })]);
    expect((await store.scheduled.due(sentAt + 20, 9, 1e6)).map(({ id }) => id)).toEqual(['first', 'second']);
    expect((await store.scheduled.due(sentAt + 30, 1, 1e6)).map(({ id }) => id)).toEqual(['first']);
    expect((await store.scheduled.due(sentAt + 30, 9, 1)).map(({ id }) => id)).toEqual(['first']);
    await releaseAll(store, sentAt + 30);
    expect(await ids(store, 'inbox')).toEqual(['plain', 'first', 'second', 'third']);
  });

  it('releases a message once: a second release of it, and one of a cancelled message, find it gone', async () => {
    await using setup = await open();
    const { store } = setup;
    await append(store, [later({ id: 'a' }), later({ id: 'b' })]);
    const due = await store.scheduled.due(sentAt + minute, 9, 1e6);
    expect(await store.scheduled.cancel('inbox', 'ann', 'b')).toHaveLength(1);
    expect((await append(store, due)).map(({ result }) => result)).toEqual(['stored', 'gone']);
    expect((await append(store, due)).map(({ result }) => result)).toEqual(['gone', 'gone']);
    expect(await ids(store, 'inbox')).toEqual(['a']);
  });

  it('recognises the id of a scheduled message before it is due, and after', async () => {
    await using setup = await open();
    const { store } = setup;
    await append(store, [later({ id: 'a' })]);
    const repeats = [later({ id: 'a' }, 5), message({ id: 'a' }), later({ id: 'a', body: '"other"' })];
    const results = async (): Promise<string[]> => (await append(store, repeats)).map(({ result }) => result);
    expect(await results()).toEqual(['duplicate', 'duplicate', 'id_conflict']);
    // Another sender may use the id, and the same sender may use it in another inbox.
    const others = [message({ id: 'a', sender: 'bob' }), message({ id: 'a', inbox: 'other' })];
    expect((await append(store, others)).map(({ result }) => result)).toEqual(['stored', 'stored']);
    const [released] = await releaseAll(store, sentAt + minute);
    expect(await results()).toEqual(['duplicate', 'duplicate', 'id_conflict']);
    await ack(store, 'inbox', seqOf(released));
    expect(await results()).toEqual(['duplicate', 'duplicate', 'duplicate']);
  });

  it('cancels a scheduled message for its sender only, and tells it in the history as cancelled', async () => {
    await using setup = await open();
    const { store } = setup;
    await append(store, [later({ id: 'a' })]);
    const { scheduled } = store;
    expect(await scheduled.cancel('inbox', 'bob', 'a')).toHaveLength(0);
    expect(await scheduled.cancel('other', 'ann', 'a')).toHaveLength(0);
    expect(await scheduled.cancel('inbox', 'ann', 'a')).toHaveLength(1);
    expect(await scheduled.cancel('inbox', 'ann', 'a')).toHaveLength(0);
    expect(await scheduled.count()).toBe(0);
    const { entries } = await (await setup.reopen()).history({ since: 0, limit: 9 });
    expect(entries).toMatchObject([
      { id: 'a', createdAt: sentAt, size: 6, settled: { outcome: 'cancelled' } },
    ]);
    expect(await ids(setup.store, 'inbox')).toEqual([]);
  });

  it('counts scheduled messages against the caps of inboxes, senders and recipients, and released ones no second time', async () => {
    const caps = { inbox: { messages: 3 }, recipient: { messages: 4 } };
    await using setup = await open(caps);
    const { store } = setup;
    const quota = { sender: { messages: 2, bytes: 1e6 }, senderToRecipient: { messages: 2, bytes: 1e6 } };
    const results = async (...messages: NewMessage[]): Promise<string[]> =>
      (await append(store, messages)).map(({ result }) => result);
    expect(await results(later({ id: 'a', quota }), later({ id: 'b', quota }))).toEqual([
      'scheduled',
      'scheduled',
    ]);
    for (const make of [later, message])
      expect(await results(make({ id: 'c', quota }))).toEqual(['quota_exceeded']);
    expect(await results(message({ id: 'd' }), message({ id: 'e' }))).toEqual(['stored', 'inbox_full']);
    expect(
      await results(message({ id: 'd', inbox: 'inbox#sub' }), message({ id: 'e', inbox: 'inbox#sub' })),
    ).toEqual(['stored', 'quota_exceeded']);
    const reopened = await setup.reopen();
    expect((await append(reopened, [later({ id: 'c', quota })]))[0]).toMatchObject({
      result: 'quota_exceeded',
      of: 'sender',
    });
    const [a, b] = await releaseAll(reopened, sentAt + minute);
    expect([a, b]).toMatchObject([{ result: 'stored' }, { result: 'stored' }]);
    expect((await append(reopened, [message({ id: 'c', quota })]))[0]).toMatchObject({
      result: 'quota_exceeded',
    });
    expect((await append(reopened, [message({ id: 'f' })]))[0]).toMatchObject({
      result: 'quota_exceeded',
      of: 'recipient',
    });
    await ack(reopened, 'inbox', seqOf(a));
    expect((await append(reopened, [message({ id: 'f' })]))[0]).toMatchObject({ result: 'stored' });
  });

  it('schedules the copies of a message to all members, which its sender cancels together', async () => {
    await using setup = await open();
    const { store } = setup;
    const copies = { agents: ['dan', 'eve'], partial: false };
    const toAll = later({ id: 'a', inbox: 'role:worker', copies });
    const sent = { members: 2, refused: [] };
    expect(await append(store, [toAll])).toEqual([{ result: 'scheduled', sent }]);
    expect(await append(store, [toAll])).toEqual([{ result: 'duplicate', sent }]);
    await append(store, [later({ id: 'b', inbox: 'role:worker', copies })]);
    expect(await store.scheduled.cancel('role:worker', 'ann', 'b')).toHaveLength(2);
    await releaseAll(store, sentAt + minute);
    expect([await ids(store, 'dan'), await ids(store, 'eve')]).toEqual([['a'], ['a']]);
  });

  it('lists scheduled messages by time, page by page, of one sender or one inbox', async () => {
    await using setup = await open();
    const { store } = setup;
    await append(store, [
      later({ id: 'c' }, 30),
      later({ id: 'a', sender: 'bob' }, 10),
      later({ id: 'b', inbox: 'other' }, 20),
    ]);
    const list = async (query: { sender?: string; inbox?: string }, limit = 9): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const page = await store.scheduled.list({ ...query, limit, cursor });
        expect(page.messages.length).toBeLessThanOrEqual(limit);
        found.push(...page.messages.map(({ id }) => id));
        cursor = page.cursor;
      }
      return found;
    };
    expect(await list({})).toEqual(['a', 'b', 'c']);
    expect(await list({}, 1)).toEqual(['a', 'b', 'c']);
    expect(await list({ sender: 'ann' }, 1)).toEqual(['b', 'c']);
    expect(await list({ inbox: 'inbox' })).toEqual(['a', 'c']);
    expect(await list({ sender: 'ann', inbox: 'inbox' })).toEqual(['c']);
    const { messages } = await store.scheduled.list({ sender: 'bob', limit: 9 });
    expect(messages).toMatchObject([{ id: 'a', sentAt, createdAt: sentAt + 10, size: 6, kind: 'note' }]);
  });

  it('lists the messages of a sender with thousands, in pages that may look at those of all senders', async () => {
    await using setup = await open();
    const { store } = setup;
    const many = (sender: string, count: number) =>
      Array.from({ length: count }, (_, at) => later({ id: `${sender}-${at}`, sender }, at + 1));
    await append(store, [
      ...many('bob', 2500),
      ...many('ann', 2500),
      later({ id: 'last', sender: 'ann' }, 9000),
    ]);
    const found: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await store.scheduled.list({ sender: 'ann', limit: 1500, cursor });
      found.push(...page.messages.map(({ id }) => id));
      cursor = page.cursor;
      pages++;
    }
    expect(found).toEqual([...many('ann', 2500).map(({ id }) => id), 'last']);
    expect(pages).toBeLessThanOrEqual(3);
  });
}

/** Makes a message that is due some milliseconds after it was sent. */
function later(change: Partial<NewMessage> & { id: string }, ms = minute): NewMessage {
  return message({ createdAt: sentAt + ms, scheduledAt: sentAt, ...change });
}

async function releaseAll(
  store: StoreUnderTest['store'],
  at: number,
): Promise<Awaited<ReturnType<typeof append>>> {
  return append(store, await store.scheduled.due(at, 1000, 1e9));
}
