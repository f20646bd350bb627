import { operationPermissions } from '@signalbox/protocol';
import { connectWire, startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';

async function connectAs(broker: TestBroker, agent: string, role: string): Promise<WireClient> {
  return connectWire(broker.url, { agent, token: await broker.token(agent, role) });
}

async function admin(
  client: WireClient,
  op: string,
  params: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  client.send({ type: 'admin', request_id: 'r', op, params });
  const frame = await client.next(['admin_result', 'error'], { request_id: 'r' });
  return frame.type === 'error' ? frame : (frame.result as Record<string, unknown>);
}

const params = {
  ...{ agent: 'a', role: 'worker', id: 'none', since: 0, seq: 1, seqs: [1], on: false, thread: 't' },
  ...{ directory: '/no/such/place', kind: 'change' },
  ...{ last_ms: 1000, of: [{ metric: 'signalbox_store_bytes' }] },
};

it('of an observer show what happens without bodies, and change nothing', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  await using operator = await connectAs(broker, 'operator.alice', 'operator');
  await using observer = await connectAs(broker, 'operator.watch', 'observer');
  await using bob = await connectAs(broker, 'bob', 'worker');
  bob.send({ type: 'deliver', to: 'operator.alice', id: 'n1', kind: 'note', body: true }, '"secret"');
  await bob.next('delivered');
  const before = await admin(operator, 'token_list');
  for (const [op, needs] of Object.entries<readonly string[]>(operationPermissions.admin)) {
    const answer = await admin(observer, op, params);
    if (needs.includes('observer')) expect(answer, op).not.toHaveProperty('retryable');
    else expect(answer, op).toMatchObject({ code: 'forbidden', field: 'op', retryable: false });
    expect(JSON.stringify(answer)).not.toContain('secret');
  }
  expect(await admin(operator, 'token_list')).toEqual(before);

  observer.send({ type: 'list_connected', request_id: 'l', with_status: true });
  const { agents } = await observer.next('connected');
  expect(agents).toContainEqual(
    expect.objectContaining({ agent: 'operator.alice', inbox: { unread: 1, held: 0 } }),
  );
  const peek = { type: 'peek', request_id: 'p', address: 'operator.alice' };
  observer.send(peek);
  expect(await observer.next('error', { request_id: 'p' })).toMatchObject({ code: 'not_yours' });
  operator.send(peek);
  expect(await operator.next('peeked')).toMatchObject({ messages: [{ body: '"secret"' }] });
  for (const kind of ['note', 'ask', 'reply', 'progress', 'event']) {
    observer.send({ type: 'deliver', to: 'bob', id: kind, kind, correlation_id: 'n1' });
    expect(await observer.next('error', { id: kind })).toMatchObject({ code: 'forbidden' });
  }
});

it('have a name each, which nobody else can have and no claim changes', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  await using operator = await connectAs(broker, 'operator.alice', 'operator');
  for (const [agent, role] of [
    ['operator.mallory', 'worker'],
    ['operator-alice', 'worker'],
    ['o.perator.alice', 'worker'],
    ['operator*', 'worker'],
  ]) {
    expect(await admin(operator, 'token_issue', { agent, role })).toMatchObject({
      code: 'forbidden',
      field: 'agent',
    });
  }
  for (const [agent, role] of [
    ['mallory', 'operator'],
    ['mallory', 'observer'],
    ['operator', 'observer'],
    ['operator.*', 'observer'],
    ['operator.a.b', 'operator'],
    ['ci-*', 'observer'],
  ]) {
    expect(await admin(operator, 'token_issue', { agent, role })).toMatchObject({
      code: 'forbidden',
      field: 'role',
    });
  }
  const watch = await broker.token('operator.watch', 'observer');
  for (const claim of [{ agent: 'operator' }, { agent: 'operator.alice' }, { role: 'operator' }]) {
    await using client = await connectWire(broker.url);
    client.send({ type: 'hello', agent: 'operator.watch', token: watch, protocol: 1, ...claim });
    expect(await client.next('error')).toMatchObject({ code: 'forged_sender' });
  }
});

it('expire and are revoked like others, and one that expires issues none that outlives it', async () => {
  let now = 1_000_000;
  await using broker = await startTestBroker({ durability: 'process', now: () => now });
  const brief = await broker.token('operator.brief', 'operator', 60_000);
  await using operator = await connectWire(broker.url, { agent: 'operator.brief', token: brief });
  const forEver = { agent: 'operator.eve', role: 'observer' };
  for (const wanted of [forEver, { ...forEver, ttl_ms: 60_001 }]) {
    expect(await admin(operator, 'token_issue', wanted)).toMatchObject({
      code: 'forbidden',
      field: 'ttl_ms',
    });
  }
  const issued = await admin(operator, 'token_issue', { ...forEver, ttl_ms: 60_000 });
  expect(await admin(operator, 'token_issue', { agent: 'rosa', role: 'worker' })).toHaveProperty('token');
  const { tokens } = await admin(operator, 'token_list');
  expect(tokens).toContainEqual(
    expect.objectContaining({ agent: 'operator.brief', permissions: ['operator'], expires_at: 1_060_000 }),
  );
  await using eve = await connectWire(broker.url, { agent: 'operator.eve', token: String(issued.token) });
  expect(await admin(operator, 'token_revoke', { id: issued.id })).toMatchObject({ revoked: true });
  expect((await eve.closed).code).toBe(4401);
  now += 60_000;
  expect((await operator.closed).code).toBe(4401);
});
