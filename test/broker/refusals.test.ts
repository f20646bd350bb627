import { connectWire, startTestBroker, storedRows, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';

describe('forged identity', () => {
  it.each([
    ['a sender', { from: 'victim' }],
    ['a sender object', { from: { agent: 'victim' } }],
    ['a role', { role: 'orchestrator' }],
    ['a role inside the sender', { from: { agent: 'mallory', role: 'operator' } }],
  ])('closes the connection of one who claims %s, and stores nothing', async (_name, claim) => {
    await using broker = await startTestBroker();
    const token = await broker.token('mallory');
    await broker.token('bob');
    await using honest = await connectWire(broker.url, { agent: 'mallory', token });
    honest.send(
      { type: 'deliver', to: 'bob', id: 'true', kind: 'note', from: 'mallory', role: 'worker' },
      '{}',
    );
    await honest.next('delivered');
    const before = await storedRows(broker.dataDir);
    await using forger = await connectWire(broker.url, { agent: 'mallory', token });
    forger.send({ type: 'deliver', to: 'bob', id: 'forged', kind: 'note', ...claim }, '{}');
    expect(await forger.next('error')).toMatchObject({ code: 'forged_sender', retryable: false });
    expect((await forger.closed).code).toBe(4403);
    expect(await storedRows(broker.dataDir)).toBe(before);
  });

  it("refuses a hello as somebody else, in somebody else's sub-inbox, or with another role", async () => {
    await using broker = await startTestBroker();
    const token = await broker.token('mallory');
    for (const fields of [
      { agent: 'victim' },
      { agent: 'victim#mcp-1' },
      { agent: 'mallory', role: 'operator' },
    ]) {
      await using forger = await connectWire(broker.url);
      forger.send({ type: 'hello', token, protocol: 1, ...fields });
      expect(await forger.next('error')).toMatchObject({ code: 'forged_sender' });
      expect((await forger.closed).code).toBe(4403);
    }
    await using allowed = await connectWire(broker.url, {
      agent: 'mallory#mcp-1',
      token,
      fields: { role: 'worker' },
    });
    expect(allowed.received[0]).toMatchObject({ type: 'welcome', address: 'mallory#mcp-1', role: 'worker' });
  });

  it("lets nobody read, ack or cancel for another, nor answer a request that wasn't sent to it", async () => {
    await using broker = await startTestBroker();
    await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
    await using bob = await connectWire(broker.url, { agent: 'bob', token: await broker.token('bob') });
    await using mallory = await connectWire(broker.url, {
      agent: 'mallory',
      token: await broker.token('mallory'),
    });
    bob.send({ type: 'subscribe', request_id: 's' });
    mallory.send({ type: 'subscribe', request_id: 's' });
    alice.send({ type: 'deliver', to: 'bob', id: 'q', kind: 'ask' }, '{}');
    const ask = await bob.next('message');
    const before = await storedRows(broker.dataDir);
    mallory.send({ type: 'ack', seqs: [ask.seq], request_id: 'a' });
    expect(await mallory.next('ack_result')).toMatchObject({ accepted: [], rejected: [ask.seq] });
    mallory.send({ type: 'peek', request_id: 'p', address: 'bob' });
    expect(await mallory.next('error')).toMatchObject({ code: 'not_yours', request_id: 'p' });
    mallory.send({ type: 'deliver', to: 'alice', id: 're:q', kind: 'reply', correlation_id: 'q' }, '"lie"');
    expect(await mallory.next('error')).toMatchObject({ code: 'forbidden', field: 'correlation_id' });
    expect(await storedRows(broker.dataDir)).toBe(before);
    bob.send({ type: 'deliver', to: 'alice', id: 're:q', kind: 'reply', correlation_id: 'q' }, '"truth"');
    expect(await bob.next('delivered')).toMatchObject({ id: 're:q' });
  });
});

describe('policy', () => {
  it('lets a worker ask anybody and call orchestrators, and refuses the rest without closing', async () => {
    await using broker = await startTestBroker({ policies: { quiet: { kinds: ['note'], to: ['team-*'] } } });
    for (const agent of ['bob', 'team-a']) await broker.token(agent);
    await broker.token('orchestrator', 'orchestrator');
    await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
    const send = (id: string, to: string, kind: string) =>
      alice.send({ type: 'deliver', to, id, kind }, '{}');
    send('1', 'bob', 'ask');
    expect(await alice.next('delivered')).toMatchObject({ id: '1' });
    send('2', 'orchestrator', 'mcp_request');
    expect(await alice.next('delivered')).toMatchObject({ id: '2' });
    send('3', 'bob', 'mcp_request');
    expect(await alice.next('error')).toMatchObject({ code: 'forbidden', id: '3', retryable: false });
    send('4', 'bob', 'mcp_reply');
    expect(await alice.next('error')).toMatchObject({ code: 'forbidden', id: '4' });
    await using quiet = await connectWire(broker.url, {
      agent: 'q',
      token: await broker.token('q', 'quiet'),
    });
    quiet.send({ type: 'deliver', to: 'team-a', id: 'ok', kind: 'note' }, '{}');
    expect(await quiet.next('delivered')).toMatchObject({ id: 'ok' });
    quiet.send({ type: 'deliver', to: 'bob', id: 'no', kind: 'note' }, '{}');
    expect(await quiet.next('error')).toMatchObject({ code: 'forbidden', id: 'no' });
  });
});

describe('bad frames', () => {
  const bad: [string, string, Record<string, unknown>][] = [
    ['no JSON', 'nonsense', { code: 'bad_frame' }],
    ['an array', '[1]', { code: 'bad_frame' }],
    ['no type', '{}', { code: 'unknown_frame', field: 'type' }],
    ['an unknown type', '{"type":"teleport"}', { code: 'unknown_frame', field: 'type' }],
    ['a type from the prototype', '{"type":"__proto__"}', { code: 'unknown_frame', field: 'type' }],
    ['no id', '{"type":"deliver","to":"bob","kind":"note"}', { code: 'bad_frame', field: 'id' }],
    ['an id with a space', '{"type":"deliver","to":"bob","id":"a b","kind":"note"}', { field: 'id' }],
    ['a bad address', '{"type":"deliver","to":"Bob","id":"x","kind":"note"}', { field: 'to', id: 'x' }],
    ['a bad kind', '{"type":"deliver","to":"bob","id":"x","kind":"No"}', { field: 'kind', id: 'x' }],
    [
      'its own seq',
      '{"type":"deliver","to":"bob","id":"x","kind":"note","seq":1}',
      { field: 'seq', id: 'x' },
    ],
    [
      'its own attempt',
      '{"type":"deliver","to":"bob","id":"x","kind":"note","attempt":1}',
      { field: 'attempt' },
    ],
    [
      'a negative lifetime',
      '{"type":"deliver","to":"bob","id":"x","kind":"note","ttl_ms":-1}',
      { field: 'ttl_ms' },
    ],
    ['an ack of nothing', '{"type":"ack","seqs":[]}', { field: 'seqs' }],
    ['an ack of a word', '{"type":"ack","seqs":["x"]}', { field: 'seqs.0' }],
    [
      'a window of zero',
      '{"type":"subscribe","request_id":"w","window":0}',
      { field: 'window', request_id: 'w' },
    ],
    ['a status too long', `{"type":"announce","status":"${'x'.repeat(3000)}"}`, { field: 'status' }],
    ['a header too long', `{"type":"ack","pad":"${'x'.repeat(17_000)}"}`, { code: 'bad_frame' }],
    ['a second hello', '{"type":"hello","agent":"alice","protocol":1}', { code: 'bad_frame', field: 'type' }],
    [
      'an admin wish',
      '{"type":"admin","request_id":"r","op":"token_list"}',
      { code: 'forbidden', request_id: 'r' },
    ],
    ['a depth bomb', '['.repeat(16_000), { code: 'bad_frame' }],
  ];

  it.each(bad)('answers %s and reads the next frame of the same message', async (_name, line, expected) => {
    await using broker = await startTestBroker();
    await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
    const before = await storedRows(broker.dataDir);
    alice.raw(`${line}\n{"type":"list_connected","request_id":"next"}\n`);
    expect(await alice.next('error')).toMatchObject(expected);
    expect(await alice.next('connected')).toMatchObject({ request_id: 'next' });
    expect(await storedRows(broker.dataDir)).toBe(before);
  });

  it('answers a body that is too large and closes only for a WebSocket message that is', async () => {
    await using broker = await startTestBroker({ limits: { message: { bytes: 1000, frameBytes: 20_000 } } });
    await broker.token('bob');
    await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
    const header = { type: 'deliver', to: 'bob', kind: 'note' };
    alice.send({ ...header, id: 'fits' }, 'é'.repeat(500));
    expect(await alice.next('delivered')).toMatchObject({ id: 'fits' });
    alice.send({ ...header, id: 'over' }, 'é'.repeat(501));
    expect(await alice.next('error')).toMatchObject({ code: 'message_too_large', id: 'over', field: 'body' });
    alice.raw('x'.repeat(20_001));
    expect((await alice.closed).code).toBe(1009);
  });

  it('refuses what is not a hello first, a hello too late, and a page of another site', async () => {
    await using hasty = await startTestBroker({ helloTimeoutMs: 50 });
    await using silent = await connectWire(hasty.url);
    expect((await silent.closed).code).toBe(4408);
    await using broker = await startTestBroker();
    await using eager = await connectWire(broker.url);
    eager.send({ type: 'subscribe', request_id: 's' });
    expect(await eager.next('error')).toMatchObject({ code: 'bad_hello' });
    expect((await eager.closed).code).toBe(4400);
    await expect(connectWire(broker.url, undefined, { origin: 'https://evil.test' })).rejects.toThrow('403');
    await expect(connectWire(broker.url, undefined, { headers: { host: 'evil.test' } })).rejects.toThrow(
      '403',
    );
    await expect(connectWire(broker.url, undefined, { protocols: ['other'] })).rejects.toThrow('400');
    const token = await broker.token('alice');
    await using own = await connectWire(
      broker.url,
      { agent: 'alice', token },
      { origin: `http://127.0.0.1:${broker.port}` },
    );
    expect(own.received[0]?.type).toBe('welcome');
  });

  it('lets sockets that never say hello crowd out only each other', async () => {
    await using broker = await startTestBroker({ limits: { connections: { unauthenticated: 3 } } });
    await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
    const strangers: WireClient[] = [];
    for (let i = 0; i < 6; i++) strangers.push(await connectWire(broker.url));
    await Promise.all(strangers.slice(0, 3).map((stranger) => stranger.closed));
    alice.send({ type: 'list_connected', request_id: 'still-here' });
    expect(await alice.next('connected')).toMatchObject({ request_id: 'still-here' });
    await Promise.all(strangers.map((stranger) => stranger[Symbol.asyncDispose]()));
  });
});

describe('caps', () => {
  it('hold exactly under 64 concurrent senders', async () => {
    await using broker = await startTestBroker({
      limits: { inbox: { messages: 100 }, senderToRecipient: { messages: 3 } },
    });
    await broker.token('bob');
    const senders = await Promise.all(
      Array.from({ length: 64 }, async (_, i) =>
        connectWire(broker.url, { agent: `s${i}`, token: await broker.token(`s${i}`) }),
      ),
    );
    for (const sender of senders) {
      for (let i = 0; i < 5; i++) sender.send({ type: 'deliver', to: 'bob', id: `${i}`, kind: 'note' }, '{}');
    }
    const answers = await Promise.all(
      senders.map(async (sender) => {
        const kinds: unknown[] = [];
        for (let i = 0; i < 5; i++) {
          const frame = await sender.next(['delivered', 'error'], { id: `${i}` });
          kinds.push(frame.type === 'error' ? frame.code : 'delivered');
        }
        return kinds;
      }),
    );
    const all = answers.flat();
    // Of the 100, the last 10 are for replies and for messages of the broker, operators and orchestrators.
    expect(all.filter((kind) => kind === 'delivered')).toHaveLength(90);
    expect(all.filter((kind) => kind === 'quota_exceeded' || kind === 'inbox_full')).toHaveLength(230);
    for (const kinds of answers)
      expect(kinds.filter((kind) => kind === 'delivered').length).toBeLessThanOrEqual(3);
    await using operator = await connectWire(broker.url, {
      agent: 'operator',
      token: await broker.operatorToken(),
    });
    operator.send({ type: 'peek', request_id: 'p', address: 'bob', limit: 1000 });
    expect((await operator.next('peeked')).messages).toHaveLength(90);
    await Promise.all(senders.map((sender) => sender[Symbol.asyncDispose]()));
  });

  it('bound how fast a worker sends, name the setting, and say when to go on', async () => {
    let now = 5_000_000;
    await using broker = await startTestBroker({
      limits: { rates: { messages: 10, messagesBurst: 2 } },
      roleLimits: { tester: { rates: { messages: 1000, messagesBurst: 3 } } },
      monotonic: () => now,
    });
    await broker.token('bob');
    await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
    const note = (id: string) => ({ type: 'deliver', to: 'bob', id, kind: 'note' });
    for (const id of ['1', '2', '3']) alice.send(note(id), '{}');
    await alice.next('delivered', { id: '2' });
    expect(await alice.next('error')).toEqual({
      type: 'error',
      code: 'rate_limited',
      message:
        "more than 10 messages a second for role 'worker'; send more slowly, or raise broker.limits.rates.messages",
      id: '3',
      retry_after_ms: 100,
      retryable: true,
    });
    now += 100;
    alice.send(note('3'), '{}');
    expect(await alice.next('delivered', { id: '3' })).toMatchObject({ id: '3' });

    const token = await broker.token('tess', 'tester');
    await using tess = await connectWire(broker.url, { agent: 'tess', token });
    expect(alice.received[0]).toMatchObject({ limits: { rates: { messages: 10, messagesBurst: 2 } } });
    expect(tess.received[0]).toMatchObject({ limits: { rates: { messages: 1000, messagesBurst: 3 } } });
    for (const id of ['1', '2', '3', '4']) tess.send(note(id), '{}');
    await tess.next('delivered', { id: '3' });
    expect(await tess.next('error')).toMatchObject({
      message:
        "more than 1,000 messages a second for role 'tester'; send more slowly, or raise roles.tester.limits.rates.messages",
    });
  });
});
