import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connectWire, startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';

async function operator(broker: TestBroker): Promise<WireClient> {
  return connectWire(broker.url, { agent: 'operator', token: await broker.operatorToken() });
}

async function admin(
  client: WireClient,
  op: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  client.send({ type: 'admin', request_id: 'r', op, params });
  const frame = await client.next(['admin_result', 'error'], { request_id: 'r' });
  return frame.type === 'error' ? frame : (frame.result as Record<string, unknown>);
}

describe('tokens', () => {
  it('are issued by the operator, shown once, and kept only as hashes in files nobody else may read', async () => {
    await using broker = await startTestBroker();
    await using op = await operator(broker);
    const issued = await admin(op, 'token_issue', { agent: 'alice', role: 'researcher', ttl_ms: 60_000 });
    expect(issued).toMatchObject({ agent: 'alice', role: 'researcher' });
    await using alice = await connectWire(broker.url, { agent: 'alice', token: issued.token as string });
    expect(alice.received[0]).toMatchObject({ role: 'researcher' });
    const listed = await admin(op, 'token_list', {});
    expect(JSON.stringify(listed)).toContain(String(issued.id));
    const secret = String(issued.token).split('~')[1]!;
    expect(JSON.stringify(listed)).not.toContain(secret);
    for (const name of ['tokens.db', 'tokens.db-wal', 'audit.db', 'messages.db', 'operator.token']) {
      const path = join(broker.dataDir, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      if (!stat) continue;
      expect(stat.mode & 0o777).toBe(0o600);
      expect(readFileSync(path).includes(secret)).toBe(false);
    }
    expect(statSync(broker.dataDir).mode & 0o777).toBe(0o700);
  });

  it('cut the live connection when revoked, and only that one', async () => {
    await using broker = await startTestBroker();
    await using op = await operator(broker);
    const doomed = await admin(op, 'token_issue', { agent: 'alice', role: 'worker' });
    const kept = await admin(op, 'token_issue', { agent: 'alice', role: 'worker' });
    await using first = await connectWire(broker.url, { agent: 'alice', token: doomed.token as string });
    await using second = await connectWire(broker.url, { agent: 'alice', token: kept.token as string });
    expect(await admin(op, 'token_revoke', { id: doomed.id })).toEqual({ id: doomed.id, revoked: true });
    expect((await first.closed).code).toBe(4401);
    expect(first.received.at(-1)).toMatchObject({ type: 'error', code: 'unauthorized' });
    second.send({ type: 'list_connected', request_id: 'l' });
    expect(((await second.next('connected')).agents as unknown[]).length).toBe(2);
    await using late = await connectWire(broker.url);
    late.send({ type: 'hello', agent: 'alice', token: doomed.token, protocol: 1 });
    expect(await late.next('error')).toMatchObject({ code: 'unauthorized', field: 'token' });
    expect(await admin(op, 'token_revoke', { id: 'no-such' })).toMatchObject({ code: 'unknown_token' });
  });

  it('end a live connection when they expire', async () => {
    let now = 1_000_000;
    await using broker = await startTestBroker({ now: () => now });
    await using alice = await connectWire(broker.url, {
      agent: 'alice',
      token: await broker.token('alice', 'worker', 5000),
    });
    await using bob = await connectWire(broker.url, {
      agent: 'bob',
      token: await broker.token('bob', 'worker', 50_000),
    });
    now += 5000;
    expect((await alice.closed).code).toBe(4401);
    bob.send({ type: 'list_connected', request_id: 'l' });
    expect((await bob.next('connected')).agents).toMatchObject([{ agent: 'bob' }]);
  });

  it('are refused for reserved and look-alike names, and granted for their neighbours', async () => {
    await using broker = await startTestBroker();
    await using op = await operator(broker);
    for (const agent of [
      'orchestrator',
      'o.r.c.h.e.s.t.r.a.t.o.r',
      'operator',
      'op-erator',
      'system',
      'broker',
      'human',
    ]) {
      expect(await admin(op, 'token_issue', { agent, role: 'worker' })).toMatchObject({
        code: 'forbidden',
        field: 'agent',
      });
    }
    for (const agent of ['Alice', 'a b', '', 'a#b', '-a']) {
      expect(await admin(op, 'token_issue', { agent, role: 'worker' })).toMatchObject({
        code: 'bad_frame',
        field: 'agent',
      });
    }
    expect(await admin(op, 'token_issue', { agent: 'x', role: 'operator' })).toMatchObject({
      code: 'forbidden',
      field: 'role',
    });
    expect(await admin(op, 'token_issue', { agent: 'x', role: 'worker', ttl_ms: 0 })).toMatchObject({
      field: 'params.ttl_ms',
    });
    expect(await admin(op, 'token_issue', { agent: 'orchestrator', role: 'orchestrator' })).toHaveProperty(
      'token',
    );
    expect(await admin(op, 'token_issue', { agent: 'orchestrators', role: 'worker' })).toHaveProperty(
      'token',
    );
  });

  it('that mint issue exact ids with their own role and life, and do nothing else', async () => {
    await using broker = await startTestBroker();
    await using op = await operator(broker);
    const mint = await admin(op, 'token_issue', { agent: 'ci-*', role: 'tester', ttl_ms: 60_000 });
    await using minter = await connectWire(broker.url, { agent: 'ci-minter', token: mint.token as string });
    const child = await admin(minter, 'token_issue', { agent: 'ci-1', role: 'tester', ttl_ms: 1000 });
    await using worker = await connectWire(broker.url, { agent: 'ci-1', token: child.token as string });
    expect(worker.received[0]).toMatchObject({ agent: 'ci-1', role: 'tester' });
    for (const [request, field] of [
      [{ agent: 'other', role: 'tester' }, 'agent'],
      [{ agent: 'ci-*', role: 'tester' }, 'agent'],
      [{ agent: 'ci-2', role: 'admin' }, 'role'],
      [{ agent: 'ci-2', role: 'tester', ttl_ms: 120_000 }, 'ttl_ms'],
    ] as const) {
      expect(await admin(minter, 'token_issue', request)).toMatchObject({ code: 'forbidden', field });
    }
    expect(await admin(minter, 'token_list', {})).toMatchObject({ code: 'forbidden' });
    expect(await admin(minter, 'token_revoke', { id: mint.id })).toMatchObject({ code: 'unknown_token' });
    minter.send({ type: 'subscribe', request_id: 's' });
    expect(await minter.next('error', { request_id: 's' })).toMatchObject({ code: 'forbidden' });
    await admin(op, 'token_revoke', { id: mint.id });
    expect((await worker.closed).code).toBe(4401);
  });
});
