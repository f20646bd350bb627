import { type BrokerClient, groupAddress, requestAddress, type ServeHandler } from '@signalbox/client';
import { expect, it, vi } from 'vitest';
import { clientClock, gate, startBrokerWithClients } from '../support/broker/broker-with-clients.ts';

const group = 'role:writer';
const timeoutMs = 10_000;

async function start(options: Parameters<typeof startBrokerWithClients>[0] = {}) {
  const broker = await startBrokerWithClients({ roles: ['writer'], ...options });
  const join = async (
    agent: string,
    options: Parameters<typeof broker.connect>[1] = {},
  ): Promise<BrokerClient> =>
    (await broker.connect(groupAddress(agent), { role: 'writer', ...options })).client;
  const { client: alice } = await broker.connect(requestAddress('alice'));
  return { ...broker, join, alice, [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose]() };
}

it('answers a request of a group by the member that took it, and its progress reaches the requester', async () => {
  await using broker = await start();
  const [rosa, omar] = [await broker.join('rosa'), await broker.join('omar')];
  const busy = gate();
  const answer =
    (name: string): ServeHandler =>
    async ({ json, progress }) => {
      progress(`${name} begins`);
      if (json === 'wait') await busy.opened;
      return { kind: 'reply', body: name };
    };
  for (const member of [rosa, omar]) await member.serve(['ask'], answer(member.agent), { group });
  const heard: unknown[] = [];
  const slow = broker.alice.request(group, 'ask', 'wait', {
    timeoutMs,
    onProgress: (body) => heard.push(body),
  });
  await vi.waitFor(() => expect(heard).toEqual(['rosa begins']));
  const quick = await Promise.all([1, 2, 3].map((n) => broker.alice.request(group, 'ask', n, { timeoutMs })));
  for (const one of quick) expect(one).toMatchObject({ status: 'completed', reply: { json: 'omar' } });
  busy.open();
  expect(await slow).toMatchObject({ status: 'completed', reply: { from: { agent: 'rosa' } } });
});

it('renews what a handler works on, so that a long task stays with its member', async () => {
  let now = 1_000_000;
  await using broker = await start({ now: () => now });
  const clock = clientClock();
  const rosa = await broker.join('rosa', clock);
  const silent = await broker.join('silent');
  const done = gate();
  const started: unknown[] = [];
  const handler: ServeHandler = async ({ json }) => {
    started.push(json);
    await done.opened;
    return { kind: 'reply', body: 'done' };
  };
  await rosa.serve(['task'], handler, { group });
  const renewed = broker.alice.request(group, 'task', 'renewed', { timeoutMs: 600_000 });
  await vi.waitFor(() => expect(started).toEqual(['renewed']));
  await using subscription = await silent.subscribe({ group });
  await broker.alice.deliver({ to: group, kind: 'task', body: 'lost' });
  await subscription.messages.next();
  await subscription.setWindow(0);
  const omar = await broker.join('omar');
  await omar.serve(['task'], handler, { group });
  for (let passed = 0; passed < 75_000; passed += 25_000) {
    clock.advance(25_000);
    now += 25_000;
    // The client's timer has sent its renewal before this question.
    await vi.waitFor(() => expect(clock.due()).toBe(0));
    await rosa.listConnected();
  }
  await vi.waitFor(() => expect(started).toEqual(['renewed', 'lost']));
  done.open();
  expect(await renewed).toMatchObject({ reply: { from: { agent: 'rosa' } } });
});

it('gives a message of a kind that a member does not serve to another one', async () => {
  await using broker = await start();
  const [rosa, omar] = [await broker.join('rosa'), await broker.join('omar')];
  await rosa.serve(['ask'], async () => ({ kind: 'reply', body: null }), { group });
  await omar.serve(['task'], async () => ({ kind: 'reply', body: 'by omar' }), { group });
  expect(await broker.alice.request(group, 'task', null, { timeoutMs })).toMatchObject({
    reply: { json: 'by omar' },
  });
});

it('hands out messages to a subscriber, which takes no more with a window of 0 and keeps what it has', async () => {
  await using broker = await start();
  const rosa = await broker.join('rosa');
  const send = (id: string) => broker.alice.deliver({ to: group, kind: 'note', id, body: id, groupKey: 'k' });
  expect(await send('a')).toEqual({ id: 'a', duplicate: false });
  await using subscription = await rosa.subscribe({ group });
  const { value } = await subscription.messages.next();
  expect(value).toMatchObject({ id: 'a', group_key: 'k' });
  await subscription.setWindow(0);
  expect(await rosa.ack([value!.seq!])).toEqual({ accepted: [value!.seq], rejected: [] });
  await send('b');
  await subscription.setWindow(1);
  expect((await subscription.messages.next()).value).toMatchObject({ id: 'b' });
});

it('sends to all members, and says how many and who was left out', async () => {
  await using broker = await startBrokerWithClients({
    limits: { inbox: { messages: 1 }, store: { reservePercent: 0 } },
  });
  const { client: alice } = await broker.connect(requestAddress('alice'));
  for (const agent of ['rosa', 'omar']) await broker.token(agent, 'writer');
  const all = { to: group, kind: 'note', body: 'news', all: true };
  expect(await alice.deliver(all)).toMatchObject({ members: 2, duplicate: false });
  await expect(alice.deliver(all)).rejects.toThrow(/'(rosa|omar)' can't be/);
  const { members, refused } = await alice.deliver({ ...all, partial: true });
  expect([members, refused?.map(({ agent }) => agent).sort()]).toEqual([0, ['omar', 'rosa']]);
});

it('is closed when its agent is no longer a member, and sends no request whose reply could not come', async () => {
  const groups = { press: { roles: ['writer'] } };
  await using broker = await startBrokerWithClients({ groups });
  const { client: rosa } = await broker.connect(groupAddress('rosa'), { role: 'writer' });
  const { client: stranger } = await broker.connect(groupAddress('mallory'));
  await rosa.serve(['task'], async () => undefined, { group: 'group:press' });
  await expect(stranger.subscribe({ group: 'group:press' })).rejects.toMatchObject({ code: 'forbidden' });
  expect(await rosa.request('mallory', 'ask', null, { timeoutMs })).toMatchObject({
    status: 'not_sent',
    error: { message: expect.stringContaining('send requests with another one') },
  });
  broker.broker.broker.setGroups({});
  expect(await rosa.closed).toMatchObject({ code: 'forbidden' });
});
