import {
  connectWire,
  startTestBroker,
  storedRows,
  type TestBroker,
  type WireClient,
} from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { connect } from '../support/abuse/frames.ts';

/** Checks that a message of an honest client still arrives. */
async function served(honest: WireClient, id: string): Promise<void> {
  honest.send({ type: 'deliver', to: 'honest', id, kind: 'note' }, '{}');
  await honest.next('delivered', { id });
  const { seq } = await honest.next('message', { id });
  honest.send({ type: 'ack', seqs: [seq], request_id: id });
  expect(await honest.next('ack_result', { request_id: id })).toMatchObject({ accepted: [seq] });
}

async function honestClient(broker: TestBroker): Promise<WireClient> {
  const honest = await connect(broker, 'honest');
  honest.send({ type: 'subscribe', request_id: 's' });
  await honest.next('subscribed');
  return honest;
}

const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('what is no text', () => {
  it('is refused when it is binary, and the connection goes on', async () => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using honest = await honestClient(broker);
    await using odd = await connect(broker, 'odd');
    const before = await storedRows(broker.dataDir);
    odd.raw(Buffer.from('{"type":"deliver","to":"honest","id":"b","kind":"note"}\n'));
    expect(await odd.next('error')).toMatchObject({ code: 'bad_frame' });
    expect(await storedRows(broker.dataDir)).toBe(before);
    odd.send({ type: 'deliver', to: 'honest', id: 'text', kind: 'note' });
    await odd.next('delivered', { id: 'text' });
    await served(honest, 'still');
  });

  it('closes the connection when it is bad UTF-8, and only that one', async () => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using honest = await honestClient(broker);
    await using odd = await connect(broker, 'odd');
    const before = await storedRows(broker.dataDir);
    const text = Buffer.from('{"type":"deliver","to":"honest","id":"b","kind":"note","body":true}\n"?"\n');
    text[text.length - 3] = 0xff;
    odd.socket.send(text, { binary: false });
    expect((await odd.closed).code).toBe(1007);
    expect(await storedRows(broker.dataDir)).toBe(before);
    await served(honest, 'still');
  });
});

describe('a depth bomb', () => {
  it('in a header is one refused frame, before the hello and after it', async () => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using honest = await honestClient(broker);
    await using stranger = await connectWire(broker.url);
    stranger.raw(`{"type":"announce","status":${deep(7900)}}\n`);
    expect(await stranger.next('error')).toMatchObject({ code: 'bad_hello' });
    await using odd = await connect(broker, 'odd', 'operator-like');
    odd.raw(`{"type":"announce","status":${deep(7900)}}\n`);
    expect(await odd.next('error')).toMatchObject({ code: 'bad_frame', field: 'status' });
    for (const field of ['"from"', '"anything"']) {
      odd.raw(`{"type":"list_connected","request_id":${field},${field}:${deep(7900)}}\n`);
      expect((await odd.next('connected')).type).toBe('connected');
    }
    odd.raw(`{"type":"admin","request_id":"a","op":"token_list","params":{"x":${deep(7800)}}}\n`);
    expect(await odd.next('error')).toMatchObject({ code: 'forbidden', request_id: 'a' });
    odd.send({ type: 'announce', status: JSON.parse(deep(100)) });
    honest.send({ type: 'list_connected', request_id: 'l', with_status: true });
    const { agents } = await honest.next('connected');
    expect(agents).toContainEqual(expect.objectContaining({ agent: 'odd', status: JSON.parse(deep(100)) }));
    await served(honest, 'still');
  });

  it('in the params of an operator is answered as any other wrong value', async () => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using operator = await connectWire(broker.url, {
      agent: 'operator',
      token: await broker.operatorToken(),
    });
    operator.raw(
      `{"type":"admin","request_id":"a","op":"token_issue","params":{"agent":${deep(7800)},"role":"r"}}\n`,
    );
    expect(await operator.next('error')).toMatchObject({ code: 'bad_frame', field: 'params.agent' });
    operator.send({
      type: 'admin',
      request_id: 'b',
      op: 'token_issue',
      params: { agent: 'fine', role: 'r' },
    });
    expect(await operator.next('admin_result')).toMatchObject({ request_id: 'b' });
  });

  it('in a body travels unread', async () => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using honest = await honestClient(broker);
    await using odd = await connect(broker, 'odd');
    const body = '['.repeat(1_000_000);
    odd.send({ type: 'deliver', to: 'honest', id: 'bomb', kind: 'note' }, body);
    expect((await honest.next('message', { id: 'bomb' })).body === body).toBe(true);
    await served(honest, 'still');
  });
});

describe('keys of the prototype', () => {
  it.each([
    '{"type":"deliver","to":"honest","id":"p","kind":"note","__proto__":{"role":"operator","from":{"agent":"x"}}}',
    '{"type":"deliver","to":"honest","id":"p","kind":"note","constructor":{"prototype":{"isOperator":true}}}',
    '{"__proto__":{"ephemeral":true},"type":"deliver","to":"honest","id":"p","kind":"note"}',
  ])('in a header are unknown fields and nothing more: %s', async (line) => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using honest = await honestClient(broker);
    await using odd = await connect(broker, 'odd');
    odd.raw(`${line}\n`);
    await odd.next('delivered', { id: 'p' });
    const message = await honest.next('message', { id: 'p' });
    expect(message.from).toEqual({ agent: 'odd', address: 'odd', role: 'worker' });
    expect(message.seq).toBeGreaterThan(0);
    odd.send({ type: 'admin', request_id: 'a', op: 'token_list' });
    expect(await odd.next('error')).toMatchObject({ code: 'forbidden' });
    expect(({} as Record<string, unknown>).isOperator).toBeUndefined();
  });

  it('never stand for a missing field, an operation or the params of one', async () => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using operator = await connectWire(broker.url, {
      agent: 'operator',
      token: await broker.operatorToken(),
    });
    operator.raw('{"type":"deliver","to":"operator","id":"p","__proto__":{"kind":"note"}}\n');
    expect(await operator.next('error')).toMatchObject({ code: 'bad_frame', field: 'kind' });
    for (const op of ['__proto__', 'constructor', 'toString']) {
      operator.send({ type: 'admin', request_id: op, op });
      expect(await operator.next('error')).toMatchObject({ code: 'unknown_op', request_id: op });
    }
    operator.raw(
      '{"type":"admin","request_id":"i","op":"token_issue","params":{"__proto__":{"agent":"ghost","role":"worker"}}}\n',
    );
    expect(await operator.next('error')).toMatchObject({ code: 'bad_frame', field: 'params.agent' });
    operator.send({
      type: 'admin',
      request_id: 't',
      op: 'token_issue',
      params: { agent: 'constructor', role: 'constructor' },
    });
    const { result } = await operator.next('admin_result', { request_id: 't' });
    await using named = await connectWire(broker.url, {
      agent: 'constructor',
      token: (result as { token: string }).token,
    });
    expect(named.received[0]).toMatchObject({ agent: 'constructor', role: 'constructor' });
  });
});

describe('request ids', () => {
  it('used twice are answered twice, each with its own answer', async () => {
    await using broker = await startTestBroker({ durability: 'process' });
    await using client = await connect(broker, 'twice');
    client.raw(
      '{"type":"list_connected","request_id":"same"}\n{"type":"peek","request_id":"same"}\n{"type":"list_connected","request_id":"same"}\n',
    );
    const answers = [
      await client.next('connected', { request_id: 'same' }),
      await client.next('peeked', { request_id: 'same' }),
      await client.next('connected', { request_id: 'same' }),
    ];
    expect(answers.map(({ type }) => type)).toEqual(['connected', 'peeked', 'connected']);
    expect(client.received.filter(({ type }) => type === 'error')).toEqual([]);
  });
});
