import { connectBroker, groupAddress } from '@signalbox/client';
import { replyIdOf } from '@signalbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MailboxStack, startMailboxStack } from '../support/worker/mailbox-client.ts';

let stack: MailboxStack;
const wait = { timeoutMs: 20_000 };

beforeAll(async () => {
  stack = await startMailboxStack();
});
afterAll(() => stack?.[Symbol.asyncDispose]());

/** The process that holds an agent's inbox, as `worker serve` does, and an agent that writes to it. */
async function stage(agent: string) {
  await using opened = new AsyncDisposableStack();
  const { url } = stack.broker;
  const connect = async (name: string) =>
    opened.use(await connectBroker({ url, token: await stack.broker.token(name), agent: name }));
  const [holder, walt] = [await connect(agent), await connect(`walt-${agent}`)];
  const { messages } = opened.use(await holder.subscribe({ consumerId: 'serve' }));
  const resources = opened.move();
  return {
    holder,
    walt,
    next: async () => (await messages.next()).value!,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

test('A served face shows the messages of its turn and those that wait, takes nothing, and answers either.', async () => {
  await using served = await stage('rosa');
  const { walt, holder, next } = served;
  for (const body of ['now', 'later']) await walt.deliver({ to: 'rosa', kind: 'task', id: body, body });
  const [first] = [await next(), await next()];
  await using rosa = await stack.mailbox('rosa', 'worker', { turn: { seqs: [first!.seq!] } });
  const read = await rosa.use('inbox_read');
  expect(read.data).toMatchObject({ turn: [{ id: 'now' }], waiting: [{ id: 'later' }], more: false });
  expect(read.text).toContain('message 1 of 1 of this turn\nfrom: walt-rosa');
  expect(read.text).toContain('\na message that waits for a later turn\n');

  for (const refused of [await rosa.use('inbox_wait'), await rosa.use('inbox_read', { ack: 'any' })]) {
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('signalbox worker serve holds this inbox');
  }
  const early = await rosa.use('reply', { message_id: 'later', text: 'answered in this turn' });
  expect(early.data).toEqual({ replied_to: 'later', to: 'walt-rosa' });
  await walt.deliver({ to: 'rosa', kind: 'note', body: 'still the holder' });
  expect((await next()).body).toBe('"still the holder"');
  expect(holder.state.name).toBe('ready');
});

test('A served face in a turn of a group shows and answers its message, and not those that wait for other members.', async () => {
  const { url } = stack.broker;
  const group = 'role:worker';
  await using walt = await connectBroker({ url, token: await stack.broker.token('wilma'), agent: 'wilma' });
  await using holder = await connectBroker({
    url,
    token: await stack.broker.token('gus'),
    agent: groupAddress('gus'),
  });
  const { messages } = await holder.subscribe({ group });
  const asked = walt.request(group, 'ask', 'who?', { ...wait, id: 'mine' });
  const { value } = await messages.next();
  await walt.deliver({ to: group, kind: 'task', id: 'later', body: 'for anyone' });
  await using gus = await stack.mailbox('gus', 'worker', { turn: { seqs: [value!.seq!], group } });
  const read = await gus.use('inbox_read');
  expect(read.data).toMatchObject({ turn: [{ id: 'mine', group }], waiting: [{ id: 'later' }] });
  const early = await gus.use('reply', { message_id: 'later', text: 'not mine' });
  expect(early).toMatchObject({ isError: true, text: expect.stringContaining('not_held') });
  expect((await gus.use('reply', { message_id: 'mine', text: 'me' })).isError).toBe(false);
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'me', from: { agent: 'gus' } } });
  expect(await holder.find([{ agent: 'wilma', id: 'mine', reply: replyIdOf('mine') }])).toEqual(['answered']);
});

test('A reply of a served face is stored at once; the message stays, and the reply of serve after it is not stored.', async () => {
  await using served = await stage('rita');
  const { walt, holder, next } = served;
  const asked = walt.request('rita', 'ask', 'who?', { ...wait, id: 'q1' });
  const { seq, from } = await next();
  await using rita = await stack.mailbox('rita', 'worker', { turn: { seqs: [seq!] } });
  expect((await rita.use('reply', { message_id: 'q1', text: 'me' })).isError).toBe(false);
  expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'me', id: replyIdOf('q1') } });
  expect(await holder.peek()).toHaveLength(1);
  expect(await holder.find([{ id: 'q1', agent: from.agent, reply: replyIdOf('q1') }])).toEqual(['answered']);
  const again = await rita.use('reply', { message_id: 'q1', text: 'you' });
  expect(again.text).toContain('already_answered');
  // Until the asker has acked the first reply, another one is refused as already_answered.
  await expect.poll(() => walt.peek()).toEqual([]);
  const late = holder.deliver({
    ...{ to: from.address, kind: 'reply', id: replyIdOf('q1'), correlationId: 'q1' },
    ...{ body: 'the final text', settles: seq! },
  });
  expect(await late).toMatchObject({ duplicate: true });
  await expect.poll(() => holder.peek()).toEqual([]);
});

test('A served face answers no note, and no message that is not there.', async () => {
  await using served = await stage('rolf');
  await served.walt.deliver({ to: 'rolf', kind: 'note', id: 'n1', body: 'hello' });
  await using rolf = await stack.mailbox('rolf', 'worker', { turn: { seqs: [(await served.next()).seq!] } });
  expect((await rolf.use('reply', { message_id: 'n1', text: 'hi' })).text).toContain('not_a_question');
  expect((await rolf.use('reply', { message_id: 'n2', text: 'hi' })).text).toContain('not_held');
});

test('A served agent that asks is told of a question to it, but not of that of its own turn, and can answer.', async () => {
  await using served = await stage('rune');
  const { walt, next } = served;
  await walt.deliver({ to: 'rune', kind: 'ask', id: 'own', body: 'go' });
  const turn = { seqs: [(await next()).seq!] };
  await using rune = await stack.mailbox('rune', 'worker', { turn, othersAskAfterMs: 0 });
  const asking = rune.use('ask_agent', { to: 'walt-rune', text: 'and you?' });
  const back = walt.request('rune', 'ask', 'you first', { ...wait, id: 'back' });
  const { data } = await asking;
  expect(data).toMatchObject({ status: 'pending', waiting_questions: [{ id: 'back', from: 'walt-rune' }] });
  expect((await rune.use('reply', { message_id: 'back', text: 'me first' })).isError).toBe(false);
  expect(await back).toMatchObject({ status: 'completed', reply: { json: 'me first' } });
});
