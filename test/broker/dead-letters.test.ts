import { startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';

interface DeadLetter {
  seq: number;
  id: string;
  [field: string]: unknown;
}

/** Sends bob messages that he declares dead; their dead letters, by number. */
async function bury(
  broker: TestBroker,
  bob: WireClient,
  operator: WireClient,
  ids: string[],
): Promise<DeadLetter[]> {
  await using alice = await connect(broker, 'alice#one');
  for (const id of ids) {
    await deliver(alice, 'bob', id, { kind: 'note', correlation_id: 'c', ttl_ms: 60_000 }, `"${id}"`);
    const { seq } = await bob.next('message', { id });
    bob.send({ type: 'nack', seqs: [seq], dead: true, reason: `no use for ${id}`, request_id: id });
    await bob.next('ack_result', { request_id: id });
  }
  return (await admin<{ messages: DeadLetter[] }>(operator, 'dead_list')).messages;
}

it('lists dead letters page by page and by inbox, and shows one with its body', async () => {
  await using broker = await startTestBroker({ now: () => 5000 });
  await using operator = await connectOperator(broker);
  await using bob = await connect(broker, 'bob');
  await subscribe(bob);
  const letters = await bury(broker, bob, operator, ['a', 'b', 'c']);
  const seqs = letters.map(({ seq }) => seq);
  const expected = {
    seq: seqs[0],
    inbox: 'bob',
    id: 'a',
    from: { agent: 'alice', address: 'alice#one', role: 'worker' },
    kind: 'note',
    correlation_id: 'c',
    created_at: 5000,
    dead_at: 5000,
    attempts: 1,
    size: 3,
    reason: 'no use for a',
  };
  expect(letters[0]).toEqual(expected);
  expect(await admin(operator, 'dead_show', { seq: seqs[0] })).toEqual({
    message: { ...expected, body: '"a"' },
  });
  expect(await admin(operator, 'dead_list', { limit: 2 })).toMatchObject({ more: true });
  const rest = await admin<{ messages: DeadLetter[] }>(operator, 'dead_list', { after: seqs[1], limit: 2 });
  expect(rest).toMatchObject({ messages: [{ id: 'c' }], more: false });
  expect(await admin(operator, 'dead_list', { inbox: 'alice' })).toEqual({ messages: [], more: false });
});

it('delivers a retried dead letter at once, as if new and with seven days to live, to the holder of the inbox', async () => {
  let now = 1000;
  await using broker = await startTestBroker({ now: () => now });
  await using operator = await connectOperator(broker);
  await using bob = await connect(broker, 'bob');
  await subscribe(bob);
  const [letter] = await bury(broker, bob, operator, ['a']);
  now = 900_000;
  const seq = letter!.seq;
  expect(await admin(operator, 'dead_retry', { seqs: [seq, 77] })).toEqual({ retried: [seq], unknown: [77] });
  const again = await bob.next('message', { id: 'a' });
  expect(again).toMatchObject({ created_at: 900_000, remaining_ms: 604_800_000, body: '"a"' });
  expect(again.attempt).toBeUndefined();
  expect(again.seq).toBeGreaterThan(seq);
  bob.send({ type: 'ack', seqs: [again.seq], request_id: 'done' });
  expect(await bob.next('ack_result', { request_id: 'done' })).toMatchObject({ accepted: [again.seq] });
  expect(await admin(operator, 'dead_list')).toEqual({ messages: [], more: false });
});

function entriesOf(rows: unknown): unknown[] {
  return (rows as { entry: string }[]).map(({ entry }) => JSON.parse(entry));
}

it('drops dead letters for good, notes who did so, and tells which numbers are none', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using bob = await connect(broker, 'bob');
  await subscribe(bob);
  const [first, second] = await bury(broker, bob, operator, ['a', 'b']);
  const answer = await admin(operator, 'dead_drop', { seqs: [first!.seq, 77, first!.seq] });
  expect(answer).toEqual({ dropped: [first!.seq], unknown: [77] });
  expect(await admin(operator, 'dead_list')).toMatchObject({ messages: [{ id: 'b', seq: second!.seq }] });
  const { rows } = await admin(operator, 'audit', { since: 0, kinds: ['change'] });
  expect(entriesOf(rows).at(-1)).toMatchObject({
    code: 'dead_letters_dropped',
    agent: 'operator',
    detail: `sequence numbers ${first!.seq}`,
  });
});

it('refuses dead-letter operations to everybody but the operator, and bad parameters by name', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using bob = await connect(broker, 'bob');
  for (const op of ['dead_list', 'dead_show', 'dead_retry', 'dead_drop', 'history', 'audit', 'stats']) {
    expect(await admin(bob, op, { seqs: [1], seq: 1, since: 0 })).toMatchObject({
      code: 'forbidden',
      field: 'op',
    });
  }
  for (const [op, params, field] of [
    ['dead_list', { limit: 0 }, 'limit'],
    ['dead_list', { after: 'x' }, 'after'],
    ['dead_list', { inbox: 7 }, 'inbox'],
    ['dead_show', {}, 'seq'],
    ['dead_show', { seq: 77 }, 'seq'],
    ['dead_retry', { seqs: [] }, 'seqs'],
    ['dead_drop', { seqs: ['1'] }, 'seqs'],
    ['history', {}, 'since'],
    ['history', { since: 0, limit: 5000 }, 'limit'],
    ['audit', { since: -1 }, 'since'],
  ] as const) {
    expect(await admin(operator, op, params)).toMatchObject({ code: 'bad_frame', field: `params.${field}` });
  }
  expect(await admin(operator, 'dead_list')).toEqual({ messages: [], more: false });
});

it('tells the history of a request and its answer, what was refused, and how much there is', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using bob = await connect(broker, 'bob');
  await subscribe(bob);
  await deliver(alice, 'bob', 'q');
  const { seq } = await bob.next('message');
  await deliver(bob, 'alice', 're:q', { kind: 'reply', correlation_id: 'q', settles: seq });
  await deliver(alice, 'bob', 'later', { kind: 'note' });
  alice.send({ type: 'deliver', to: 'bob', id: 'x', kind: 'mcp_request' }, '{}');
  await alice.next('error', { id: 'x' });
  await barrier(bob);
  const { messages } = await admin(operator, 'history', { since: 0, correlation_id: 'q' });
  expect(messages).toMatchObject([
    { id: 'q', inbox: 'bob', from_agent: 'alice', kind: 'ask', outcome: 'acked', size: 2 },
    { id: 're:q', inbox: 'alice', from_agent: 'bob', correlation_id: 'q' },
  ]);
  expect((messages as Record<string, unknown>[])[0]).toHaveProperty('settled_at');
  expect((messages as Record<string, unknown>[])[1]).not.toHaveProperty('outcome');
  const first = await admin(operator, 'history', { since: 0, limit: 2 });
  const second = await admin(operator, 'history', { since: 0, limit: 2, cursor: first.cursor });
  expect(second).toEqual({ messages: [expect.objectContaining({ id: 'later' })] });
  await vi.waitFor(async () => {
    const { rows } = await admin(operator, 'audit', { since: 0, kinds: ['refusal'] });
    expect(entriesOf(rows)).toMatchObject([{ agent: 'alice', code: 'forbidden' }]);
  });
  const stats = await admin(operator, 'stats');
  expect(stats).toMatchObject({ connections: 3, leases: 1, receipt_means: 'fsynced' });
  expect(stats).toMatchObject({
    version: expect.any(String),
    started_at: expect.any(Number),
    free_bytes: expect.any(Number),
  });
  expect(stats).toMatchObject({ pending: expect.any(Number), dead_letters: expect.any(Number) });
  const latency = { count: expect.any(Number), p50_ms: expect.any(Number), p95_ms: expect.any(Number) };
  expect(stats.activity).toMatchObject({
    stored: 3,
    delivered: 2,
    settled: 1,
    redelivered: 0,
    commits: latency,
  });
  expect(stats.used_bytes).toBeGreaterThan(0);
  expect(stats.max_bytes).toBeGreaterThan(stats.used_bytes as number);
});

it('ends an answer for which nobody waits as expired, with the reason, and keeps no dead letter of it', async () => {
  let now = 1000;
  await using broker = await startTestBroker({ now: () => now, monotonic: () => now });
  await using operator = await connectOperator(broker);
  await using bob = await connect(broker, 'bob');
  await subscribe(bob);
  await using alice = await connect(broker, 'alice#one');
  await subscribe(alice);
  const answer = async (id: string): Promise<number> => {
    await deliver(alice, 'bob', id, { ttl_ms: 60_000 });
    const { seq } = await bob.next('message', { id });
    const fields = { kind: 'reply', correlation_id: id, settles: seq, ttl_ms: 30_000 };
    await deliver(bob, 'alice#one', `re:${id}`, fields);
    return (await alice.next('message', { id: `re:${id}` })).seq as number;
  };
  const refused = await answer('a');
  alice.send({ type: 'nack', seqs: [refused], dead: true, reason: 'not asked here', request_id: 'n' });
  await alice.next('ack_result', { request_id: 'n' });
  await answer('b');
  await alice[Symbol.asyncDispose]();
  now += 31_000;
  await vi.waitFor(async () => {
    const { messages } = await admin<{ messages: unknown[] }>(operator, 'history', { since: 0 });
    expect(messages).toMatchObject([
      { id: 'a', outcome: 'acked' },
      { id: 're:a', outcome: 'expired', reason: 'not asked here' },
      { id: 'b', outcome: 'acked' },
      { id: 're:b', outcome: 'expired', reason: 'nobody waited for this answer' },
    ]);
  });
  expect(await admin(operator, 'dead_list')).toEqual({ messages: [], more: false });
});

it('makes a dead letter of a message that an agent works on, tells its holder, and takes nothing else from it', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using bob = await connect(broker, 'bob');
  await subscribe(alice);
  await subscribe(bob);
  for (const id of ['a', 'b', 'c']) await deliver(alice, 'bob', id, { kind: 'ask', thread: 'T' }, '"work"');
  const seqs = await Promise.all(['a', 'b', 'c'].map(async (id) => (await bob.next('message', { id })).seq));
  bob.send({ type: 'working', seqs: [seqs[0]!, seqs[1]!] });
  await barrier(bob);
  const stop = (params: object) => admin(operator, 'stop_work', { agent: 'bob', ...params });
  const none = { code: 'not_working', message: "'bob' does not work on the message 'c' now" };
  expect(await stop({ id: 'c' })).toMatchObject(none);
  expect(await stop({ id: 'a', sender: 'bob' })).toMatchObject({ code: 'not_working' });
  expect(await stop({ id: 'a', thread: 'T' })).toMatchObject({ code: 'bad_frame', field: 'params.id' });
  const stopped = { inbox: 'bob', from: 'alice', kind: 'ask', thread: 'T' };
  expect(await stop({ id: 'a' })).toEqual({ stopped: [{ ...stopped, id: 'a', seq: seqs[0] }] });
  expect(await bob.next('cancel', { correlation_id: 'a' })).toMatchObject({
    from: { agent: 'alice' },
    stopped: 'stopped by operator',
  });
  expect(await alice.next('message', { correlation_id: 'a' })).toMatchObject({ kind: 'undeliverable' });
  // Its holder ends it, too: that changes nothing any more.
  bob.send({ type: 'ack', seqs: [seqs[0]!] });
  expect(await stop({ thread: 'T' })).toEqual({ stopped: [{ ...stopped, id: 'b', seq: seqs[1] }] });
  bob.send({ type: 'nack', seqs: [seqs[1]!] });
  await barrier(bob);
  const { messages } = await admin<{ messages: DeadLetter[] }>(operator, 'dead_list');
  expect(messages.map(({ id, reason }) => [id, reason])).toEqual([
    ['a', 'stopped by operator'],
    ['b', 'stopped by operator'],
  ]);
  bob.send({ type: 'ack', seqs: [seqs[2]!], request_id: 'last' });
  expect(await bob.next('ack_result', { request_id: 'last' })).toMatchObject({ accepted: [seqs[2]] });
});
