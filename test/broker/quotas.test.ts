import type { WelcomeFrame } from '@signalbox/protocol';
import { connectWire, startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { admin, connect, connectOperator, subscribe } from '../support/broker/wire-actions.ts';

const KiB = 1024;

/** Delivers a message and returns the receipt's type, or the code and the text of the refusal. */
async function send(client: WireClient, to: string, id: string, more: Record<string, unknown> = {}) {
  const { body = '{}', ...fields } = more;
  client.send({ type: 'deliver', to, id, kind: 'note', ...fields }, body as string);
  const { type, code, message } = await client.next(['delivered', 'error'], { id });
  return type === 'error' ? `${code}: ${message}` : type;
}

/** Stores asks of `asker` at `replier`, and returns a function that answers one of them. */
async function askAhead(asker: WireClient, replier: WireClient, ids: readonly string[]) {
  await subscribe(replier);
  for (const id of ids) expect(await send(asker, 'honest', id, { kind: 'ask' })).toBe('delivered');
  return (id: string) =>
    send(replier, 'asker', `re:${id}`, { kind: 'reply', correlation_id: id, body: 'x'.repeat(KiB) });
}

function connectAll(broker: TestBroker, names: readonly string[]): Promise<WireClient[]> {
  return Promise.all(names.map((name) => connect(broker, name)));
}

it('states what a sender and a recipient may have stored, and no bound for those whose messages do not count', async () => {
  await using broker = await startTestBroker({ roleLimits: { scribe: { sender: { messages: 7 } } } });
  const MiB = KiB * KiB;
  const defaults = {
    sender: { messages: 10_000, bytes: 256 * MiB },
    senderToRecipient: { messages: 1000, bytes: 32 * MiB },
    recipient: { messages: 10_000, bytes: 256 * MiB },
    privilegedRecipient: { messages: 50_000, bytes: 256 * MiB },
    inbox: { messages: 50_000, bytes: 256 * MiB },
    deadLetters: {
      messages: 10_000,
      bytes: 256 * MiB,
      messagesPerAgent: 2000,
      bytesPerAgent: 64 * MiB,
    },
    store: { bytes: 8192 * MiB, reservePercent: 10 },
  };
  const limitsOf = async (agent: string, role: string) => {
    await using client = await connectWire(broker.url, { agent, token: await broker.token(agent, role) });
    return (client.received[0] as WelcomeFrame).limits;
  };
  expect(await limitsOf('ann', 'worker')).toMatchObject(defaults);
  expect(await limitsOf('sam', 'scribe')).toMatchObject({ ...defaults, sender: { messages: 7 } });
  const none = Number.MAX_SAFE_INTEGER;
  expect(await limitsOf('hub', 'orchestrator')).toMatchObject({
    ...defaults,
    sender: { messages: none, bytes: none },
    senderToRecipient: { messages: none, bytes: none },
  });
});

it('refuses what one sender stores beyond its limits, names the limit, and serves all others', async () => {
  await using broker = await startTestBroker({
    limits: {
      sender: { messages: 12, bytes: 64 * KiB },
      senderToRecipient: { messages: 5, bytes: 24 * KiB },
    },
    roleLimits: { scribe: { senderToRecipient: { messages: 6 } } },
  });
  const [greedy, asker, honest, ...others] = await connectAll(broker, [
    'greedy',
    'asker',
    'honest',
    'a',
    'b',
    'c',
  ]);
  const answer = await askAhead(asker!, honest!, ['q']);
  // Its five messages may go to any sub-inbox of one agent.
  for (let i = 0; i < 5; i++) expect(await send(greedy!, `honest#s${i}`, `m${i}`)).toBe('delivered');
  expect(await send(greedy!, 'honest#s9', 'm9')).toBe(
    "quota_exceeded: at most 5 messages of 'greedy' (role 'worker') may wait for 'honest', and they are reached; try again when some are read, or raise broker.limits.senderToRecipient.messages",
  );
  expect(await send(greedy!, 'a', 'large', { body: 'x'.repeat(25 * KiB) })).toContain(
    "at most 24,576 bytes of 'greedy' (role 'worker') may wait for 'a'",
  );
  await using scribe = await connect(broker, 'sam', 'scribe');
  for (let i = 0; i < 6; i++) expect(await send(scribe, 'honest', `m${i}`)).toBe('delivered');
  expect(await send(scribe, 'honest', 'm6')).toContain(
    'raise roles.scribe.limits.senderToRecipient.messages',
  );
  const body = 'x'.repeat(20 * KiB);
  for (const to of ['a', 'b', 'c']) expect(await send(greedy!, to, to, { body })).toBe('delivered');
  expect(await send(greedy!, 'asker', 'bytes', { body })).toBe(
    "quota_exceeded: at most 65,536 bytes of 'greedy' (role 'worker') may wait or be dead letters, and they are reached; try again when some are read or dropped, or raise broker.limits.sender.bytes",
  );
  for (let i = 0; i < 4; i++) expect(await send(greedy!, 'b', `n${i}`)).toBe('delivered');
  expect(await send(greedy!, 'asker', 'count')).toContain("at most 12 messages of 'greedy'");
  // Others are served; a reply counts against nobody who sends it.
  expect(await send(asker!, 'honest', 'q2', { kind: 'ask' })).toBe('delivered');
  expect(await answer('q')).toBe('delivered');
  expect(await send(greedy!, 'honest', 're', { kind: 'reply', correlation_id: 'q' })).toContain('forbidden');
  // A dead letter counts until it is dropped.
  await subscribe(others[0]!);
  const { seq } = await others[0]!.next('message', { id: 'a' });
  others[0]!.send({ type: 'nack', seqs: [seq], dead: true, request_id: 'n' });
  await others[0]!.next('ack_result');
  await broker.restart();
  await using again = await connect(broker, 'greedy');
  expect(await send(again, 'asker', 'count')).toContain('broker.limits.sender.messages');
  await using operator = await connectOperator(broker);
  await admin(operator, 'dead_drop', { seqs: [seq] });
  expect(await send(again, 'asker', 'count')).toBe('delivered');
});

it('refuses messages of any sender beyond the limit of what waits for one recipient', async () => {
  await using broker = await startTestBroker({ limits: { recipient: { messages: 6, bytes: 8 * KiB } } });
  const [asker, honest, ...crowd] = await connectAll(broker, [
    'asker',
    'honest',
    'c0',
    'c1',
    'c2',
    'c3',
    'c4',
  ]);
  const answer = await askAhead(asker!, honest!, ['q', 'q2']);
  for (const [i, one] of crowd.slice(0, 4).entries())
    expect(await send(one, `honest#s${i}`, 'm')).toBe('delivered');
  const full =
    "quota_exceeded: at most 6 messages for 'honest' may wait or be dead letters, and they are reached; try again when some are read or dropped, or raise broker.limits.recipient.messages";
  expect(await send(crowd[4]!, 'honest', 'm')).toBe(full);
  await using operator = await connectOperator(broker);
  expect(await send(operator, 'honest', 'm')).toBe(full);
  expect(await send(crowd[4]!, 'asker', 'm')).toBe('delivered');
  for (const id of ['q', 'q2']) expect(await answer(id)).toBe('delivered');
  expect(await send(crowd[4]!, 'asker', 'large', { body: 'x'.repeat(7 * KiB) })).toContain(
    'raise broker.limits.recipient.bytes',
  );
});

it('leaves room for a ninth sender, replies and notices where eight greedy ones store all that they may', async () => {
  await using broker = await startTestBroker({
    limits: {
      recipient: { messages: 80, bytes: 500 * KiB },
      privilegedRecipient: { messages: 300, bytes: 1000 * KiB },
      senderToRecipient: { messages: 11 },
    },
  });
  const [asker, honest, ...greedy] = await connectAll(broker, ['asker', 'honest', ...'abcdefgh']);
  const answer = await askAhead(asker!, honest!, ['q', 'q2']);
  const fill = async (inboxes: (i: number) => string, more: Record<string, unknown> = {}) => {
    const answers: string[] = [];
    for (let i = 0; i < 11; i++) {
      answers.push(...(await Promise.all(greedy.map((one) => send(one, inboxes(i), `m${i}`, more)))));
    }
    return answers;
  };
  const answers = await fill((i) => `asker#s${i}`);
  expect(answers.filter((one) => one === 'delivered')).toHaveLength(64);
  expect(answers.at(-1)).toBe(
    "quota_exceeded: at most 72 (of 80; the rest is reserved) messages for 'asker' may wait or be dead letters, and what is left of them is kept for senders with less of it than 'h'; try again when some are read or dropped, or raise broker.limits.recipient.messages",
  );
  for (const id of ['n1', 'n2']) expect(await send(honest!, 'asker', id)).toBe('delivered');
  expect(await answer('q')).toBe('delivered');
  const { seq } = await honest!.next('message', { id: 'q2' });
  honest!.send({ type: 'nack', seqs: [seq], dead: true, request_id: 'n' });
  await honest!.next('ack_result');
  await subscribe(asker!);
  await asker!.next('message', { id: 're:q' });
  await asker!.next('message', { kind: 'undeliverable', correlation_id: 'q2' });
  await using operator = await connectOperator(broker);
  expect(await send(operator, 'asker', 'm')).toBe('delivered');
  // An orchestrator that is away: of 900 KiB without the reserve, each of eight gets 100 KiB.
  await broker.token('hub', 'orchestrator');
  const call = { kind: 'mcp_request', body: 'x'.repeat(20 * KiB) };
  const calls = await fill(() => 'hub', call);
  expect(calls.filter((one) => one === 'delivered')).toHaveLength(40);
  expect(calls.at(-1)).toContain('raise broker.limits.privilegedRecipient.bytes');
  for (const id of ['c1', 'c2', 'c3']) expect(await send(honest!, 'hub', id, call)).toBe('delivered');
});

it('keeps a part of the store for replies and the operator when others have filled it', async () => {
  await using broker = await startTestBroker({
    limits: { store: { bytes: 8 * KiB * KiB, reservePercent: 50 } },
  });
  const [greedy, asker, honest] = await connectAll(broker, ['greedy', 'asker', 'honest']);
  const answer = await askAhead(asker!, honest!, ['q']);
  const body = 'x'.repeat(KiB * KiB);
  let last = 'delivered';
  for (let i = 0; last === 'delivered'; i++) last = await send(greedy!, 'honest', `m${i}`, { body });
  expect(last).toContain('storage_full');
  expect(last).toContain('takes 50 % of 8,388,608 bytes');
  expect(await send(asker!, 'honest', 'q2', { kind: 'ask', body })).toContain('storage_full');
  expect(await answer('q')).toBe('delivered');
  await using operator = await connectOperator(broker);
  expect(await send(operator, 'honest', 'm', { body })).toBe('delivered');
});

it('drops dead letters of the sender with the most, and keeps those of the others', async () => {
  await using broker = await startTestBroker({
    limits: { deadLetters: { messages: 8, messagesPerAgent: 6 } },
  });
  const [honest, greedy, bin] = await connectAll(broker, ['honest', 'greedy', 'bin']);
  await subscribe(bin!);
  const bury = async (client: WireClient, id: string, to: string) => {
    await send(client, to, id);
    const { seq } = await bin!.next('message', { id });
    bin!.send({ type: 'nack', seqs: [seq], dead: true, request_id: id });
    await bin!.next('ack_result', { request_id: id });
  };
  for (const id of ['h1', 'h2']) await bury(honest!, id, 'bin');
  for (let i = 0; i < 9; i++) await bury(greedy!, `g${i}`, 'bin');
  await using operator = await connectOperator(broker);
  const kept = async () => {
    const { messages } = await admin<{ messages: { id: string }[] }>(operator, 'dead_list');
    return messages.map(({ id }) => id);
  };
  await expect.poll(kept).toEqual(['h1', 'h2', 'g5', 'g6', 'g7', 'g8']);
});

it('refuses what would wait in a sub-inbox of an orchestrator that nobody holds, where it would keep out the requests of others', async () => {
  await using broker = await startTestBroker();
  await using worker = await connect(broker, 'ann');
  const token = await broker.token('hub', 'orchestrator');
  await using hub = await connectWire(broker.url, { agent: 'hub#desk', token });
  for (const kind of ['mcp_request', 'note']) {
    expect(await send(worker, 'hub#junk', `junk-${kind}`, { kind })).toBe(
      "unknown_recipient: nobody holds the inbox 'hub#junk'; write to 'hub'",
    );
  }
  expect(await send(worker, 'hub', 'main', { kind: 'mcp_request' })).toBe('delivered');
  await subscribe(hub);
  expect(await send(worker, 'hub#desk', 'held')).toBe('delivered');
});
