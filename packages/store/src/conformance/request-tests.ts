import { expect, it } from 'vitest';
import type { Appended, InboxStore, RequestState } from '../inbox-store.ts';
import type { NewMessage } from '../message.ts';
import {
  ack,
  append,
  commit,
  forgetAll,
  ids,
  message,
  type OpenStore,
  type StoreUnderTest,
  seqOf,
  sweepAll,
} from './store-under-test.ts';

/** Makes a request of `ann#one` to `inbox` that can be answered for a day. */
function request(setup: StoreUnderTest, id: string, change: Partial<NewMessage> = {}): NewMessage {
  const at = setup.now();
  return message({ id, kind: 'ask', createdAt: at, expiresAt: at + hour, openUntil: at + day, ...change });
}

/** Makes the reply of the agent `inbox` to the request `id`. */
function reply(id: string, change: Partial<NewMessage> = {}): NewMessage {
  const replier = { sender: 'inbox', senderAddress: 'inbox' };
  return message({
    id: `re:${id}`,
    inbox: 'ann#one',
    ...replier,
    kind: 'reply',
    correlationId: id,
    answers: 'ann',
    ...change,
  });
}

async function result(store: InboxStore, message: NewMessage): Promise<Appended['result'] | undefined> {
  return (await append(store, [message]))[0]?.result;
}

function state(store: InboxStore, id: string): Promise<RequestState> {
  return store.requestState({ requester: 'ann', id, replier: 'inbox', replierAddress: 'inbox' });
}

const hour = 60 * 60_000;
const day = 24 * hour;

export function requestTests(open: OpenStore): void {
  it('stores the first reply to a request and no other one, whether the request is pending or acked', async () => {
    await using setup = await open();
    const appended = await append(setup.store, [request(setup, 'pending'), request(setup, 'acked')]);
    await ack(setup.store, 'inbox', seqOf(appended[1]));
    for (const id of ['pending', 'acked']) {
      const { store } = setup;
      expect(await state(store, id)).toBe('open');
      expect(await result(store, reply(id))).toBe('stored');
      expect(await state(store, id)).toBe('over');
      expect(await result(store, reply(id))).toBe('duplicate');
      expect(await result(store, reply(id, { body: '"other"' }))).toBe('already_answered');
      await setup.reopen();
      expect(await result(setup.store, reply(id, { id: 'again' }))).toBe('already_answered');
    }
  });

  it('refuses a reply to another address than that which asked, pending or acked, and names it', async () => {
    await using setup = await open();
    const appended = await append(setup.store, [request(setup, 'pending'), request(setup, 'acked')]);
    await ack(setup.store, 'inbox', seqOf(appended[1]));
    for (const id of ['pending', 'acked']) {
      for (const inbox of ['ann', 'ann#two'])
        expect(await append(setup.store, [reply(id, { inbox })])).toEqual([
          { result: 'other_address', address: 'ann#one' },
        ]);
      expect(await state(setup.store, id)).toBe('open');
      expect(await result(setup.store, reply(id))).toBe('stored');
    }
    expect(await ids(setup.store, 'ann')).toEqual([]);
  });

  it('takes one of two replies in one commit, and acks the request that one of them settles', async () => {
    await using setup = await open();
    const { store } = setup;
    const [asked] = await append(store, [request(setup, 'a')]);
    const settles = { inbox: 'inbox', seq: seqOf(asked) };
    const results = await append(store, [reply('a', { settles }), reply('a', { id: 'again', settles })]);
    expect(results.map((one) => one.result)).toEqual(['stored', 'already_answered']);
    expect(await ids(store, 'inbox')).toEqual([]);
    expect(await ids(store, 'ann#one')).toEqual(['re:a']);
  });

  it('acks a pending request to which another reply comes, and says so', async () => {
    await using setup = await open();
    const { store } = setup;
    const [asked, other] = await append(store, [request(setup, 'a'), request(setup, 'b')]);
    expect(await result(store, reply('a'))).toBe('stored');
    expect(await ids(store, 'inbox')).toEqual(['a', 'b']);
    const settles = { inbox: 'inbox', seq: seqOf(other) };
    const acked = { inbox: 'inbox', seq: seqOf(asked) };
    expect(await append(store, [reply('a', { id: 'again', settles })])).toEqual([
      { result: 'already_answered', acked },
    ]);
    expect(await ids(store, 'inbox')).toEqual([]);
  });

  it('acks a request in the commit of a reply that names its inbox, once, and says which request that was', async () => {
    await using setup = await open();
    const [asked] = await append(setup.store, [
      request(setup, 'a'),
      request(setup, 'b'),
      request(setup, 'c'),
    ]);
    const from = (sender: string, id: string) =>
      reply(id, { id: `${sender}:${id}`, sender, senderAddress: `${sender}#x`, asked: 'inbox' });
    expect(await result(setup.store, from('eve', 'unknown'))).toBe('no_request');
    expect(await result(setup.store, { ...from('eve', 'a'), answers: 'eve' })).toBe('no_request');
    expect(await ids(setup.store, 'inbox')).toEqual(['a', 'b', 'c']);
    const both = await append(setup.store, [from('bob', 'a'), from('eve', 'a')]);
    const metadata = { inbox: 'inbox', id: 'a', seq: seqOf(asked), sender: 'ann', kind: 'ask' };
    expect(both).toMatchObject([{ result: 'stored', request: metadata }, { result: 'already_answered' }]);
    const store = await setup.reopen();
    expect(await ids(store, 'inbox')).toEqual(['b', 'c']);
    expect(await ids(store, 'ann#one')).toEqual(['bob:a']);
    expect(await result(store, from('bob', 'a'))).toBe('duplicate');
    expect(await result(store, from('eve', 'a'))).toBe('already_answered');
    // The replier's own inbox is another one.
    expect(await result(store, reply('b', { asked: 'other' }))).toBe('no_request');
    const taken = await store.find('inbox', 'ann', 'c');
    await ack(store, 'inbox', taken!.seq);
    const [late] = await append(store, [from('bob', 'c')]);
    expect(late).toMatchObject({ result: 'stored' });
    expect(late).not.toHaveProperty('request');
  });

  it('refuses the reply to what is no request, was sent by another agent, or came to another one', async () => {
    await using setup = await open();
    const { store } = setup;
    const note = await append(store, [
      message({ id: 'note' }),
      request(setup, 'a'),
      request(setup, 'sub', { inbox: 'inbox#x' }),
    ]);
    const settles = { inbox: 'inbox', seq: seqOf(note[0]) };
    const refused = [
      reply('note', { settles }),
      reply('unknown'),
      reply('a', { answers: 'eve', inbox: 'eve' }),
      reply('a', { sender: 'eve', senderAddress: 'eve' }),
      reply('sub'),
    ];
    const before = await ids(store, 'inbox');
    for (const one of refused) expect(await append(store, [one])).toEqual([{ result: 'no_request' }]);
    expect(await ids(store, 'inbox')).toEqual(before);
    expect(await ids(store, 'ann#one')).toEqual([]);
    const atSub = { senderAddress: 'inbox#x' };
    expect(await result(store, reply('a', atSub))).toBe('stored');
    expect(await result(store, reply('sub', atSub))).toBe('stored');
  });

  it.each(['expired', 'dead', 'cancelled'] as const)(
    'refuses the reply to a request that %s',
    async (outcome) => {
      await using setup = await open();
      const { store } = setup;
      const [asked] = await append(store, [request(setup, 'a')]);
      await commit(store, { settlements: [{ inbox: 'inbox', seq: seqOf(asked), outcome }] });
      expect(await result(store, reply('a'))).toBe('already_answered');
      await setup.reopen();
      expect(await result(setup.store, reply('a'))).toBe('already_answered');
    },
  );

  it('takes the reply to an acked request until its time, also when its metadata is forgotten', async () => {
    await using setup = await open();
    const { store } = setup;
    const openUntil = setup.now() + 20 * setup.forgottenAfterMs;
    const names = ['early', 'late', 'answered', 'too late'];
    const appended = await append(
      store,
      names.map((id) => request(setup, id, { openUntil })),
    );
    for (const one of appended) await ack(store, 'inbox', seqOf(one));
    expect(await result(store, reply('answered', { expiresAt: openUntil }))).toBe('stored');
    await forgetAll(setup);
    expect(await store.find('inbox', 'ann', 'early')).toBeUndefined();
    expect(await result(store, reply('early'))).toBe('stored');
    expect(await result(store, reply('answered', { id: 'again' }))).toBe('already_answered');
    await setup.reopen();
    expect(await result(setup.store, reply('early', { id: 'again' }))).toBe('already_answered');
    setup.advance(openUntil - setup.now() - 1);
    await sweepAll(setup);
    expect(await result(setup.store, reply('late'))).toBe('stored');
    setup.advance(1);
    expect(await result(setup.store, reply('too late'))).toBe('already_answered');
    await sweepAll(setup);
    expect(await result(setup.store, reply('too late'))).toBe('no_request');
  });

  it('puts each reply into the thread of its request, also when the metadata of that is forgotten', async () => {
    await using setup = await open();
    const { store } = setup;
    const openUntil = setup.now() + 20 * setup.forgottenAfterMs;
    const names = ['pending', 'settling', 'acked', 'forgotten'];
    const appended = await append(
      store,
      [...names, 'plain'].map((id) =>
        request(setup, id, { openUntil, ...(id !== 'plain' && { thread: 'th' }) }),
      ),
    );
    const answer = async (id: string, change: Partial<NewMessage> = {}) => {
      const [stored] = await append(store, [reply(id, { expiresAt: openUntil, ...change })]);
      const [read] = await store.read('ann#one', seqOf(stored) - 1, 1, 1e6);
      return [stored?.result === 'stored' && stored.thread, read?.thread];
    };
    const both = ['th', 'th'];
    expect(await answer('pending')).toEqual(both);
    expect(await answer('settling', { settles: { inbox: 'inbox', seq: seqOf(appended[1]) } })).toEqual(both);
    for (const one of appended.slice(2)) await ack(store, 'inbox', seqOf(one));
    expect(await answer('acked')).toEqual(both);
    expect(await answer('plain')).toEqual([undefined, undefined]);
    await forgetAll(setup);
    expect(await store.find('inbox', 'ann', 'forgotten')).toBeUndefined();
    expect(await answer('forgotten')).toEqual(both);
  });

  it('leaves a request open when its reply is refused for another reason', async () => {
    await using setup = await open({ inbox: { messages: 2 } });
    const { store } = setup;
    await append(store, [request(setup, 'a')]);
    const others = await append(
      store,
      ['x', 'y'].map((id) => message({ id, inbox: 'ann#one' })),
    );
    expect(await result(store, reply('a'))).toBe('inbox_full');
    expect(await state(store, 'a')).toBe('open');
    await ack(store, 'ann#one', seqOf(others[0]));
    expect(await result(store, reply('a'))).toBe('stored');
  });

  it('keeps attempts of a request that is answered before it is acked, and stores no notice when it is given up', async () => {
    await using setup = await open();
    const [asked] = await append(setup.store, [request(setup, 'a')]);
    const seq = seqOf(asked);
    await commit(setup.store, { attempts: [{ inbox: 'inbox', seq, attempts: 3 }] });
    await setup.reopen();
    expect(await result(setup.store, reply('a'))).toBe('stored');
    const store = await setup.reopen();
    expect(await store.read('inbox', 0, 9, 1e6)).toMatchObject([{ id: 'a', attempts: 3, body: '"body"' }]);
    const notice = message({ id: 'n', inbox: 'ann#one', sender: 'broker' });
    await commit(store, { settlements: [{ inbox: 'inbox', seq, outcome: 'expired', notice }] });
    expect(await ids(store, 'ann#one')).toEqual(['re:a']);
  });

  it('opens a request again that comes back from the dead', async () => {
    await using setup = await open();
    const { store } = setup;
    const [asked] = await append(store, [request(setup, 'a')]);
    await commit(store, { settlements: [{ inbox: 'inbox', seq: seqOf(asked), outcome: 'dead' }] });
    expect(await result(store, reply('a'))).toBe('already_answered');
    expect(await store.dead.retry(seqOf(asked), setup.now())).toMatchObject({ result: 'stored' });
    expect(await result(store, reply('a'))).toBe('stored');
  });

  it('stores a reply to a request of a group from an agent that has taken it, and from no other', async () => {
    await using setup = await open();
    const inbox = 'role:writer';
    const [group, day30] = [request(setup, 'g', { inbox }), setup.now() + 30 * day];
    const [asked] = await append(setup.store, [group, request(setup, 'h', { inbox, openUntil: day30 })]);
    const from = (agent: string, id = 'g') =>
      reply(id, { sender: agent, senderAddress: `${agent}#grp-1`, answersIn: [inbox] });
    expect(await result(setup.store, from('rosa'))).toBe('no_request');
    await commit(setup.store, { takings: [{ inbox, seq: seqOf(asked), agent: 'rosa' }] });
    expect(await result(setup.store, from('omar'))).toBe('no_request');
    expect(await result(setup.store, { ...from('rosa'), answersIn: [] })).toBe('no_request');
    await setup.reopen();
    await ack(setup.store, inbox, seqOf(asked));
    await setup.reopen();
    expect(await result(setup.store, from('omar'))).toBe('no_request');
    expect(await result(setup.store, from('rosa'))).toBe('stored');
    expect(await result(setup.store, { ...from('rosa'), id: 'again' })).toBe('already_answered');
    expect(await result(setup.store, from('rosa', 'h'))).toBe('no_request');
  });

  it('knows who took a request of a group after its message is forgotten, and in a segment', async () => {
    await using setup = await open();
    const inbox = 'role:writer';
    const many = Array.from({ length: setup.memoryRoom + 300 }, (_, n) =>
      request(setup, `r${n}`, { inbox, openUntil: setup.now() + 30 * day, body: undefined }),
    );
    const appended = await append(setup.store, many);
    const take = (n: number, agent: string) =>
      commit(setup.store, { takings: [{ inbox, seq: seqOf(appended[n]), agent }] });
    const answer = (n: number, agent: string, id = `re:r${n}`) => {
      const sender = { sender: agent, senderAddress: agent };
      return result(setup.store, reply(`r${n}`, { ...sender, id, answersIn: [inbox] }));
    };
    await take(3, 'rosa');
    await take(3, 'omar');
    await take(4, 'rosa');
    await setup.reopen();
    for (const n of [3, 4, 5]) await ack(setup.store, inbox, seqOf(appended[n]));
    expect(await answer(4, 'rosa')).toBe('stored');
    await forgetAll(setup);
    expect(await answer(3, 'mallory')).toBe('no_request');
    expect(await answer(5, 'rosa')).toBe('no_request');
    expect(await answer(3, 'omar')).toBe('stored');
    expect(await answer(3, 'rosa')).toBe('already_answered');
    expect(await answer(4, 'rosa', 'again')).toBe('already_answered');
  });
}
