import { createHmac } from 'node:crypto';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { post, push, sign, standardKey, startWithReader, token } from '../support/broker/webhooks.ts';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';
import { ask } from '../support/http/ask.ts';

const bearer = { authorization: `Bearer ${token}` };

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

test('No token can have the name or the role of a webhook or a schedule.', async () => {
  await using broker = await startTestBroker();
  for (const agent of ['hook', 'hook.github', 'hook-1', 'schedule.nightly', 'hook.*'])
    await expect(broker.token(agent), agent).rejects.toMatchObject({ code: 'forbidden' });
  for (const role of ['hook', 'schedule'])
    await expect(broker.token('rosa', role), role).rejects.toMatchObject({ code: 'forbidden' });
  await expect(broker.token('hooker', 'hooks')).resolves.toBeTypeOf('string');
});
