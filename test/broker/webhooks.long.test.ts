import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { connect as connectSocket, type Socket } from 'node:net';
import { join } from 'node:path';
import type { BrokerOptions } from '@signalbox/broker';
import { openSqliteInboxStore } from '@signalbox/store';
import { areStoresInFiles, connectWire, lastingPort, startChild, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { hooks, post, push, sign, startWithReader, token } from '../support/broker/webhooks.ts';
import { admin, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';
import { ask, type Response, readToEnd } from '../support/http/ask.ts';

const bearer = { authorization: `Bearer ${token}` };

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

test('A bearer hook stores each delivery without an id, and one with an id once.', async () => {
  await using setup = await startWithReader();
  const send = async (headers: OutgoingHttpHeaders) =>
    JSON.parse((await post(setup.broker, 'ci', { body: 'done', headers: { ...bearer, ...headers } })).body);
  const ids = [await send({}), await send({})].map(({ id }) => id);
  expect(new Set(ids).size).toBe(2);
  const named = await send({ 'idempotency-key': 'k' });
  expect(await send({ 'idempotency-key': 'k' })).toEqual({ id: named.id, duplicate: true });
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
