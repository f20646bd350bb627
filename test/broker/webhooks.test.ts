import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { connect as connectSocket, type Socket } from 'node:net';
import { join } from 'node:path';
import type { BrokerOptions, HookSettings } from '@signalbox/broker';
import { openSqliteInboxStore } from '@signalbox/store';
import {
  areStoresInFiles,
  connectWire,
  lastingPort,
  startChild,
  startTestBroker,
  type TestBroker,
  tempDir,
} from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';
import { ask, type Response, readToEnd } from '../support/http/ask.ts';

const secret = "It's a Secret to Everybody";
const token = 'a-bearer-token-of-32-characters-';
const standardKey = Buffer.alloc(24, 7);
const hooks = {
  github: { to: 'rosa', kind: 'task', secret, signature: 'github' },
  mail: {
    to: 'rosa',
    kind: 'note',
    secret: `whsec_${standardKey.toString('base64')}`,
    signature: 'standard',
  },
  ci: { to: 'rosa', kind: 'note', secret: token, signature: 'bearer' },
} as const satisfies HookSettings;

interface Sent {
  body?: string;
  headers?: OutgoingHttpHeaders;
  method?: string;
}

/** Sends a request to a webhook. */
function post(broker: TestBroker, hook: string, { method = 'POST', ...sent }: Sent): Promise<Response> {
  return ask(broker, `/hooks/${hook}`, { method, ...sent });
}

function sign(body: string, delivery: string): OutgoingHttpHeaders {
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return {
    'x-hub-signature-256': `sha256=${signature}`,
    'x-github-delivery': delivery,
    'x-github-event': 'push',
    'content-type': 'application/json',
  };
}

function push(broker: TestBroker, delivery: string, body = '{"ref":"main"}'): Promise<Response> {
  return post(broker, 'github', { body, headers: sign(body, delivery) });
}

const bearer = { authorization: `Bearer ${token}` };

async function startWithReader(options: Partial<BrokerOptions> = {}) {
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await startTestBroker({ hooks, ...options }));
  const rosa = opened.use(await connect(broker, 'rosa'));
  const resources = opened.move();
  return { broker, rosa, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

test("GitHub's delivery is in the inbox when it is answered, with an attested sender, and its repetition is not stored again.", async () => {
  await using setup = await startWithReader();
  const { broker, rosa } = setup;
  const first = await push(broker, 'guid-1');
  expect(first).toMatchObject({
    status: 202,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  const { id } = JSON.parse(first.body);
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  await subscribe(rosa);
  const message = await rosa.next('message');
  expect(message).toMatchObject({
    id,
    kind: 'task',
    from: { agent: 'hook.github', address: 'hook.github', role: 'hook' },
  });
  expect(JSON.parse(message.body!)).toEqual({
    event: 'push',
    delivery: 'guid-1',
    content_type: 'application/json',
    json: { ref: 'main' },
  });
  const repeated = await push(broker, 'guid-1');
  expect(repeated.status).toBe(202);
  expect(JSON.parse(repeated.body)).toEqual({ id, duplicate: true });
  rosa.send({ type: 'ack', seqs: [message.seq], request_id: 'a' });
  await rosa.next('ack_result');
  await broker.restart();
  expect(JSON.parse((await push(broker, 'guid-1')).body)).toEqual({ id, duplicate: true });
  // The positive control: another delivery is stored.
  expect(JSON.parse((await push(broker, 'guid-2')).body)).not.toHaveProperty('duplicate');
  await using again = await connect(broker, 'rosa');
  await subscribe(again);
  expect(JSON.parse((await again.next('message')).body!)).toMatchObject({ delivery: 'guid-2' });
});

test('A delivery that is sent again is stored again if its message was given up or dropped, and not while it waits or after it was done.', async () => {
  await using setup = await startWithReader();
  const { broker, rosa } = setup;
  await using operator = await connectOperator(broker);
  await subscribe(rosa);
  const settle = async (id: string, how: object): Promise<number> => {
    const { seq } = await rosa.next('message', { id });
    rosa.send({ ...how, seqs: [seq], request_id: 's' });
    await rosa.next('ack_result', { request_id: 's' });
    return Number(seq);
  };
  const sent = async () => JSON.parse((await push(broker, 'guid-7')).body);
  const giveUp = { type: 'nack', dead: true, reason: 'no' };
  const { id } = await sent();
  expect(await sent()).toEqual({ id, duplicate: true });
  await settle(id, giveUp);
  expect(await sent()).toEqual({ id });
  const seq = await settle(id, giveUp);
  await admin(operator, 'dead_drop', { seqs: [seq] });
  const again = await sent();
  expect(again).toEqual({ id: expect.not.stringMatching(id) });
  expect(await sent()).toEqual({ ...again, duplicate: true });
  await settle(again.id, { type: 'ack' });
  expect(await sent()).toEqual({ ...again, duplicate: true });
  const { hooks } = await admin<{ hooks: object[] }>(operator, 'hooks');
  expect(hooks[0]).toMatchObject({ name: 'github', stored: 3, repeated: 3 });
});

test('A delivery of Standard Webhooks is stored once, though each attempt has a time and a signature of its own.', async () => {
  await using setup = await startWithReader();
  const attempt = (at: number) => {
    const body = '{"type":"a"}';
    const time = String(Math.floor(at / 1000));
    const hmac = createHmac('sha256', standardKey).update(`msg_1.${time}.${body}`).digest('base64');
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': time, 'webhook-signature': `v1,${hmac}` };
    return post(setup.broker, 'mail', { body, headers });
  };
  const first = JSON.parse((await attempt(Date.now() - 60_000)).body);
  expect(JSON.parse((await attempt(Date.now())).body)).toEqual({ id: first.id, duplicate: true });
  expect((await attempt(Date.now() - 400_000)).status).toBe(401);
});

test('A bearer hook stores each delivery without an id, and one with an id once.', async () => {
  await using setup = await startWithReader();
  const send = async (headers: OutgoingHttpHeaders) =>
    JSON.parse((await post(setup.broker, 'ci', { body: 'done', headers: { ...bearer, ...headers } })).body);
  const ids = [await send({}), await send({})].map(({ id }) => id);
  expect(new Set(ids).size).toBe(2);
  const named = await send({ 'idempotency-key': 'k' });
  expect(await send({ 'idempotency-key': 'k' })).toEqual({ id: named.id, duplicate: true });
});

test('What is wrong with a proof is told to the operator and to nobody else.', async () => {
  await using setup = await startWithReader();
  const { broker } = setup;
  const body = '{}';
  const refused = [
    await post(broker, 'github', { body }),
    await post(broker, 'github', { body, headers: { 'x-hub-signature-256': 'sha256=x' } }),
    await post(broker, 'github', { body: '[]', headers: sign(body, 'guid') }),
    await post(broker, 'mail', { body }),
    await post(broker, 'ci', { body, headers: { authorization: 'Bearer wrong' } }),
  ];
  for (const { status, body: said } of refused)
    expect({ status, said }).toEqual({ status: 401, said: refused[0]!.body });
  await using operator = await connectOperator(broker);
  const listed = await admin<{ hooks: Record<string, unknown>[] }>(operator, 'hooks');
  expect(listed.hooks.find(({ name }) => name === 'github')).toMatchObject({
    to: 'rosa',
    kind: 'task',
    signature: 'github',
    urls: [`http://127.0.0.1:${broker.port}/hooks/github`],
    stored: 0,
    refused: 3,
    last_refusal: { reason: expect.stringContaining('does not match') },
  });
  expect(JSON.stringify(listed)).not.toMatch(/Secret to Everybody|bearer-token|whsec/);
  const { rows } = await admin<{ rows: { entry: string }[] }>(operator, 'audit', {
    since: 0,
    kinds: ['refusal'],
  });
  expect(rows.map(({ entry }) => entry).join()).not.toMatch(/Secret to Everybody|bearer-token|whsec/);
  expect((await push(broker, 'guid')).status).toBe(202);
});

test('Other names, paths and methods are refused, and a foreign host name is not.', async () => {
  await using setup = await startWithReader();
  const { broker } = setup;
  const body = '{}';
  for (const name of ['gitlab', '', 'github/', 'github/x', '..', '%67ithub', 'constructor'])
    expect((await post(broker, name, { body, headers: bearer })).status, name).toBe(404);
  expect(await post(broker, 'github', { method: 'GET' })).toMatchObject({
    status: 405,
    headers: { allow: 'POST' },
  });
  expect((await post(broker, 'github', { method: 'PUT', body })).status).toBe(405);
  const abroad = { ...bearer, host: 'hooks.example.com' };
  expect((await post(broker, 'ci', { body, headers: abroad })).status).toBe(202);
  const page = { ...abroad, origin: 'https://evil.example' };
  expect((await post(broker, 'ci', { body, headers: page })).status).toBe(403);
  // The rest of the broker keeps its rule.
  expect((await ask(broker, '/livez', { headers: { host: 'hooks.example.com' } })).status).toBe(403);
});

async function openSocket(port: number, bytes: string): Promise<Socket> {
  const socket = connectSocket(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

const head = (...headers: string[]) =>
  ['POST /hooks/ci HTTP/1.1', 'host: localhost', `authorization: ${bearer.authorization}`, ...headers].join(
    '\r\n',
  );

test('A body over 1 MiB is refused while it comes, whether its length was told or not.', async () => {
  await using setup = await startWithReader();
  const { broker } = setup;
  const big = 'x'.repeat(1.1 * 1024 * 1024);
  expect((await post(broker, 'ci', { body: big, headers: bearer })).status).toBe(413);
  const told = await openSocket(broker.port, `${head(`content-length: ${big.length}`)}\r\n\r\n`);
  expect(String((await once(told, 'data'))[0])).toMatch(/^HTTP\/1\.1 413 /);
  told.destroy();
  const untold = await openSocket(broker.port, `${head('transfer-encoding: chunked')}\r\n\r\n`);
  // No end of the body follows.
  untold.write(`${big.length.toString(16)}\r\n${big}\r\n`);
  expect(String((await once(untold, 'data'))[0])).toMatch(/^HTTP\/1\.1 413 /);
  untold.destroy();
  const most = 'x'.repeat(1024 * 1024);
  expect((await post(broker, 'ci', { body: most, headers: bearer })).status).toBe(202);
});

test('A body that comes too slowly ends its connection, and its place is free again.', async () => {
  const limits = { webhooks: { bodiesPerAddress: 1 } };
  await using setup = await startWithReader({ limits, helloTimeoutMs: 300 });
  const { broker } = setup;
  const slow = await openSocket(broker.port, `${head('content-length: 10')}\r\n\r\nabc`);
  await vi.waitFor(async () =>
    expect(await post(broker, 'ci', { body: 'x', headers: bearer })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
    }),
  );
  expect(await readToEnd(slow)).toMatch(/^HTTP\/1\.1 408 /);
  await vi.waitFor(async () =>
    expect((await post(broker, 'ci', { body: 'x', headers: bearer })).status).toBe(202),
  );
});

test('Full inboxes, full stores, used quotas, fast senders and unknown recipients are told with the time to come again.', async () => {
  const cases: [number, string, Partial<BrokerOptions>][] = [
    [429, 'quota_exceeded', { roleLimits: { hook: { senderToRecipient: { messages: 1 } } } }],
    [503, 'inbox_full', { limits: { inbox: { messages: 1 }, store: { reservePercent: 0 } } }],
    [503, 'storage_full', { limits: { store: { bytes: 1 } } }],
    [429, 'rate_limited', { roleLimits: { hook: { rates: { messages: 1, messagesBurst: 1 } } } }],
    [429, 'rate_limited', { limits: { webhooks: { requestsPerAddress: 1 } } }],
    [503, 'unknown_recipient', { hooks: { github: { ...hooks.github, to: 'role:nobody' } } }],
  ];
  for (const [status, code, options] of cases) {
    await using setup = await startWithReader({
      now: () => 1_800_000_000_000,
      monotonic: () => 1000,
      ...options,
    });
    const answers: Response[] = [];
    for (let i = 0; i < 3; i++) answers.push(await push(setup.broker, `guid-${i}`));
    const last = answers.at(-1)!;
    expect(last, code).toMatchObject({ status, body: expect.stringContaining(code) });
    expect(Number(last.headers['retry-after']), code).toBeGreaterThan(0);
    expect(last.body, code).not.toMatch(/rosa|broker\.limits/);
  }
});

test('Another body under the id of a delivery that waits is refused, and nothing is stored of it.', async () => {
  await using setup = await startWithReader();
  const { broker, rosa } = setup;
  expect((await push(broker, 'guid', '{"n":1}')).status).toBe(202);
  expect((await push(broker, 'guid', '{"n":2}')).status).toBe(409);
  rosa.send({ type: 'peek', request_id: 'p', limit: 10 });
  const { messages } = await rosa.next('peeked');
  expect(messages).toHaveLength(1);
});

test('A reply to a webhook is confirmed, is in the history, and waits nowhere; nothing else can be sent to it.', async () => {
  await using setup = await startWithReader();
  const { broker, rosa } = setup;
  await subscribe(rosa);
  const { id } = JSON.parse((await push(broker, 'guid')).body);
  const { seq } = await rosa.next('message');
  rosa.send({ type: 'deliver', to: 'hook.github', id: 'n', kind: 'note' }, '{}');
  expect(await rosa.next(['error', 'delivered'])).toMatchObject({
    code: 'unknown_recipient',
    message: expect.stringContaining('reads none'),
  });
  await deliver(rosa, 'hook.github', `re:${id}`, { kind: 'reply', correlation_id: id, settles: seq });
  await using operator = await connectOperator(broker);
  await expect.poll(() => admin(operator, 'stats')).toMatchObject({ pending: 0 });
  const { messages } = await admin<{ messages: Record<string, unknown>[] }>(operator, 'history', {
    since: 0,
  });
  expect(messages).toMatchObject([
    { from_agent: 'hook.github', inbox: 'rosa', outcome: 'acked' },
    { from_agent: 'rosa', inbox: 'hook.github', kind: 'reply', outcome: 'acked' },
  ]);
});

test('A task of a webhook that nobody can do becomes a dead letter of the operator, and its notice waits nowhere.', async () => {
  await using setup = await startWithReader();
  const { broker, rosa } = setup;
  await subscribe(rosa);
  await push(broker, 'guid');
  const { seq } = await rosa.next('message');
  rosa.send({ type: 'nack', seqs: [seq], dead: true, reason: 'no', request_id: 'n' });
  await rosa.next('ack_result');
  await using operator = await connectOperator(broker);
  await expect.poll(() => admin(operator, 'stats')).toMatchObject({ pending: 0, dead_letters: 1 });
  const { messages } = await admin<{ messages: Record<string, unknown>[] }>(operator, 'history', {
    since: 0,
  });
  expect(messages.find(({ kind }) => kind === 'undeliverable')).toMatchObject({
    inbox: 'hook.github',
    outcome: 'acked',
  });
});

test('No token can have the name or the role of a webhook or a schedule.', async () => {
  await using broker = await startTestBroker();
  for (const agent of ['hook', 'hook.github', 'hook-1', 'schedule.nightly', 'hook.*'])
    await expect(broker.token(agent), agent).rejects.toMatchObject({ code: 'forbidden' });
  for (const role of ['hook', 'schedule'])
    await expect(broker.token('rosa', role), role).rejects.toMatchObject({ code: 'forbidden' });
  await expect(broker.token('hooker', 'hooks')).resolves.toBeTypeOf('string');
});

test('Webhooks are replaced while the broker runs; a secret that is too short is refused, and changes nothing.', async () => {
  await using setup = await startWithReader();
  const { broker } = setup;
  expect((await push(broker, 'a')).status).toBe(202);
  const { github } = hooks;
  expect(() => broker.broker.setHooks({ github: { ...github, secret: 'short' } })).toThrow(/16 bytes/);
  expect((await push(broker, 'b')).status).toBe(202);
  broker.broker.setHooks({ github: { ...github, secret: 'another secret of 16 bytes' } });
  expect((await push(broker, 'c')).status).toBe(401);
  expect((await post(broker, 'ci', { headers: bearer, body: 'x' })).status).toBe(404);
  broker.broker.setHooks({ github });
  expect((await push(broker, 'c')).status).toBe(202);
  await using operator = await connectOperator(broker);
  expect(await admin(operator, 'hooks')).toMatchObject({ hooks: [{ stored: 3, refused: 1 }] });
});

const main = new URL('../support/broker/webhook-broker-main.ts', import.meta.url);

test.each([
  ['broker.deliver.before_commit', {}],
  ['broker.deliver.after_commit', { duplicate: true }],
  ['broker.receipt.before', { duplicate: true }],
])(
  'A delivery at whose point %s the broker is killed is sent again, and stored once.',
  async (point, again) => {
    await using directory = await tempDir();
    const port = await lastingPort();
    const start = () =>
      startChild<{ url: string; operatorToken: string }>(main, { args: [directory.path, String(port)] });
    const body = '{"ref":"main"}';
    const send = () => ask({ port }, '/hooks/github', { method: 'POST', body, headers: sign(body, 'guid') });
    {
      await using killed = await start();
      await killed.arm(point);
      await expect(send()).rejects.toMatchObject({ code: expect.stringMatching(/ECONNRESET|UND/) });
      expect(await killed.exited).toMatchObject({ signal: 'SIGKILL' });
    }
    await using broker = await start();
    const answers = [await send(), await send()];
    const id = JSON.parse(answers[0]!.body).id;
    expect(answers.map(({ status, body: said }) => [status, JSON.parse(said)])).toEqual([
      [202, { id, ...again }],
      [202, { id, duplicate: true }],
    ]);
    const { url, operatorToken } = broker.ready;
    await using operator = await connectWire(url, { agent: 'operator', token: operatorToken });
    expect(await admin(operator, 'stats')).toMatchObject({ pending: 1 });
  },
);

test('Messages come while hundreds of slow senders hold their requests, which take no more than the places of their webhook.', async () => {
  await using setup = await startWithReader();
  const { broker, rosa } = setup;
  const slow = await Promise.all(
    Array.from({ length: 300 }, (_, i) =>
      openSocket(
        broker.port,
        `${head('content-length: 1000', `x-forwarded-for: 10.0.${i % 250}.${i}`)}\r\n\r\nabc`,
      ),
    ),
  );
  for (let i = 0; i < 20; i++) await deliver(rosa, 'rosa', `beside-${i}`, { kind: 'note' });
  expect(slow.some((socket) => !socket.closed && socket.bytesRead === 0)).toBe(true);
  // Those who hold all places of one webhook leave the others theirs.
  expect((await post(broker, 'ci', { body: 'x', headers: bearer })).status).toBe(503);
  expect((await push(broker, 'guid')).status).toBe(202);
  for (const socket of slow) socket.destroy();
  await vi.waitFor(async () =>
    expect((await post(broker, 'ci', { body: 'x', headers: bearer })).status).toBe(202),
  );
});

test('A flood of requests that prove nothing is refused, and neither messages nor proven deliveries wait for it.', async () => {
  await using setup = await startWithReader();
  const { broker, rosa } = setup;
  const refused = { authorization: 'Bearer wrong', 'x-forwarded-for': '10.0.0.1' };
  const flood = Array.from({ length: 400 }, () => post(broker, 'ci', { body: 'x', headers: refused }));
  for (let i = 0; i < 20; i++) await deliver(rosa, 'rosa', `beside-${i}`, { kind: 'note' });
  const proven = { ...sign('{}', 'guid'), 'x-forwarded-for': '10.1.0.1' };
  expect((await post(broker, 'github', { body: '{}', headers: proven })).status).toBe(202);
  const statuses = (await Promise.all(flood)).map(({ status }) => status);
  expect([...new Set(statuses)].sort()).toEqual([401, 429]);
  const { body } = await ask(broker, '/metrics', {
    headers: { authorization: `Bearer ${await broker.operatorToken()}` },
  });
  const metric = 'signalbox_webhook_deliveries_total';
  expect(body).toContain(`${metric}{webhook="github",result="stored"} 1`);
  expect(body).toContain(`${metric}{webhook="mail",result="stored"} 0`);
  expect(body).toContain(
    `${metric}{webhook="ci",result="unauthorized"} ${statuses.filter((status) => status === 401).length}`,
  );
});

test.runIf(areStoresInFiles)(
  'What was stored for a webhook when the broker was killed is discarded at its next start, and nothing else is.',
  async () => {
    await using setup = await startWithReader();
    const { broker } = setup;
    const { id } = JSON.parse((await push(broker, 'guid')).body);
    await broker.broker.stop();
    {
      const file = join(broker.dataDir, 'messages.db');
      await using store = await openSqliteInboxStore({
        ...{ file, durability: 'process', now: Date.now, monotonic: () => performance.now() },
      });
      const left = { id: 'left', sender: 'rosa', senderAddress: 'rosa', senderRole: 'worker', kind: 'note' };
      const [createdAt, expiresAt] = [Date.now(), Date.now() + 600_000];
      const messages = ['hook.github', 'hook.gone', 'hooker'].map((inbox) => ({
        ...left,
        inbox,
        createdAt,
        expiresAt,
      }));
      await store.commit({ messages, attempts: [], settlements: [] });
    }
    await broker.restart();
    await using operator = await connectOperator(broker);
    await expect.poll(() => admin(operator, 'stats')).toMatchObject({ pending: 2 });
    const { messages } = await admin<{ messages: Record<string, unknown>[] }>(operator, 'history', {
      since: 0,
    });
    expect(messages).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id, inbox: 'rosa' }),
        expect.objectContaining({ inbox: 'hook.github', outcome: 'acked' }),
        expect.objectContaining({ inbox: 'hook.gone', outcome: 'acked' }),
      ]),
    );
  },
);
