import { expect, it } from 'vitest';
import { openScriptedBroker, type ScriptedBroker } from '../test/scripted-broker.ts';
import { connectBroker } from './connect.ts';

const address = 'asker#1';
const server = { agent: 'server', address: 'server', role: 'worker' };

const connect = (broker: ScriptedBroker) => connectBroker({ url: broker.url, token: 't', agent: address });

/** The reply to a request, as the broker pushes it. */
function replyTo(id: unknown, seq: number): [object, string] {
  const fields = { from: server, to: address, kind: 'reply', correlation_id: id, created_at: 1 };
  return [{ type: 'message', id: `re:${id}`, seq, ...fields }, `{"n":${seq}}`];
}

const receiptOf = (id: unknown): [object] => [{ type: 'delivered', id }];

it('a reply that comes before the receipt of its request ends it, once, and the receipt makes its id free', async () => {
  await using broker = await openScriptedBroker();
  await using client = await connect(broker);
  const ask = () => client.request('server', 'ask', 1, { id: 'q', timeoutMs: 60_000 });
  const outcomes: unknown[] = [];
  void ask().then((outcome) => outcomes.push(outcome));
  await broker.next('deliver');
  broker.say(replyTo('q', 1));
  expect(await broker.next('ack')).toMatchObject({ seqs: [1] });
  expect(outcomes).toMatchObject([{ status: 'completed', reply: { json: { n: 1 } } }]);
  broker.say(receiptOf('q'));
  broker.say(replyTo('q', 2));
  expect(await broker.next('ack')).toMatchObject({ seqs: [2] });
  const again = ask();
  await broker.next('deliver');
  broker.say(receiptOf('q'), replyTo('q', 3));
  expect(await again).toMatchObject({ status: 'completed', reply: { seq: 3 } });
  expect(outcomes).toHaveLength(1);
});

it('a request whose reply is here is neither sent again without its receipt nor failed by a late refusal', async () => {
  await using broker = await openScriptedBroker();
  await using client = await connect(broker);
  const outcomes = ['cut', 'refused'].map((id) =>
    client.request('server', 'ask', 1, { id, timeoutMs: 60_000 }),
  );
  await broker.next('deliver');
  await broker.next('deliver');
  broker.say(replyTo('cut', 1), replyTo('refused', 2));
  expect(await Promise.all(outcomes)).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  await broker.next('ack');
  broker.say([
    { type: 'error', id: 'refused', code: 'internal', message: 'the commit failed', retryable: true },
  ]);
  broker.cut();
  await broker.next('subscribe');
  await broker.next('subscribe');
  broker.say(replyTo('cut', 3));
  expect(await broker.next('ack')).toMatchObject({ seqs: [3] });
  const next = client.request('server', 'ask', 1, { id: 'next', timeoutMs: 60_000 });
  expect(await broker.next('deliver')).toMatchObject({ id: 'next' });
  broker.say(replyTo('next', 4), receiptOf('next'));
  expect(await next).toMatchObject({ status: 'completed' });
});

it('messages that come before any receipt are taken and served, and each receipt finds its deliver later', async () => {
  await using broker = await openScriptedBroker();
  await using client = await connect(broker);
  const settled: string[] = [];
  const loop = await client.serve(['ask'], async ({ json }) => ({
    kind: 'reply',
    body: json,
    settled: (how) => settled.push(how),
  }));
  const note = client.deliver({ to: address, kind: 'note', body: 1, id: 'note' });
  await broker.next('deliver');
  const subscription = await client.subscribe();
  const from = { agent: 'asker', address, role: 'worker' };
  const head = { type: 'message', from, to: address, created_at: 1 };
  broker.say(
    [{ ...head, id: 'note', seq: 1, kind: 'note' }, '1'],
    [{ ...head, id: 'a', seq: 2, kind: 'ask' }, '{"n":2}'],
  );
  expect((await subscription.messages.next()).value).toMatchObject({ id: 'note', seq: 1 });
  expect(await broker.next('deliver')).toMatchObject({ id: 're:a', settles: 2 });
  expect([loop.inFlight, settled]).toEqual([1, []]);
  broker.say(receiptOf('re:a'), receiptOf('note'));
  expect(await note).toEqual({ id: 'note', duplicate: false });
  expect([loop.inFlight, settled]).toEqual([0, ['stored']]);
});
