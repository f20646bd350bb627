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

function sameNames(some: unknown, others: readonly string[]): boolean {
  return Array.isArray(some) && some.toSorted().join() === others.toSorted().join();
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
    const audit = JSON.stringify(await admin(op, 'audit', { since: 0 }));
    expect(audit).toContain('token_revoked');
    expect(audit).not.toContain('unauthorized');
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

  it('of agents end after 30 days unless the issuer says otherwise, and those of operators and orchestrators do not', async () => {
    const [now, day] = [1_000_000, 24 * 3_600_000];
    await using broker = await startTestBroker({ now: () => now });
    await using op = await operator(broker);
    const endOf = async (client: WireClient, params: Record<string, unknown>): Promise<unknown> => {
      const { id, expires_at } = await admin(client, 'token_issue', { role: 'worker', ...params });
      expect(id).toEqual(expect.any(String));
      return expires_at;
    };
    expect(await endOf(op, { agent: 'rosa' })).toBe(now + 30 * day);
    expect(await endOf(op, { agent: 'ci-*' })).toBe(now + 30 * day);
    expect(await endOf(op, { agent: 'rosa', ttl_ms: 5000 })).toBe(now + 5000);
    expect(await endOf(op, { agent: 'rosa', ttl_ms: null })).toBe(undefined);
    expect(await endOf(op, { agent: 'orchestrator', role: 'orchestrator' })).toBe(undefined);
    expect(await endOf(op, { agent: 'operator.alice', role: 'operator' })).toBe(undefined);
    const mint = async (ttl_ms: number | null): Promise<WireClient> => {
      const { token } = await admin(op, 'token_issue', { agent: 'ci-*', role: 'worker', ttl_ms });
      return await connectWire(broker.url, { agent: 'ci-0', token: token as string });
    };
    await using brief = await mint(day);
    expect(await endOf(brief, { agent: 'ci-1' })).toBe(now + day);
    expect(await admin(brief, 'token_issue', { agent: 'ci-1', role: 'worker', ttl_ms: null })).toMatchObject({
      code: 'forbidden',
      field: 'ttl_ms',
    });
    await using lasting = await mint(null);
    expect(await endOf(lasting, { agent: 'ci-2' })).toBe(now + 30 * day);
    expect(await endOf(lasting, { agent: 'ci-2', ttl_ms: null })).toBe(undefined);
  });

  it('tell their holder when they end, and once they have ended which command renews them', async () => {
    let now = 1_000_000;
    await using broker = await startTestBroker({ now: () => now });
    const token = await broker.token('alice', 'worker', 5000);
    await using alice = await connectWire(broker.url, { agent: 'alice', token });
    expect(alice.received[0]).toMatchObject({ token: { created_at: now, expires_at: now + 5000 } });
    now += 5000;
    await alice.closed;
    await using late = await connectWire(broker.url);
    late.send({ type: 'hello', agent: 'alice', token, protocol: 1 });
    for (const error of [alice.received.at(-1), await late.next('error')]) {
      expect(error).toMatchObject({
        code: 'unauthorized',
        message: expect.stringMatching(
          /expired on 1970-.*signalbox token issue --agent alice --role worker --ttl 5s$/,
        ),
      });
    }
  });

  it('of one agent are revoked together, also those that a minting token issued, and nobody else’s', async () => {
    await using broker = await startTestBroker();
    await using op = await operator(broker);
    const issue = async (client: WireClient, agent: string): Promise<{ id: string; token: string }> =>
      (await admin(client, 'token_issue', { agent, role: 'worker' })) as { id: string; token: string };
    const minting = await issue(op, 'ci-*');
    await using minter = await connectWire(broker.url, { agent: 'ci-0', token: minting.token });
    const doomed = [await issue(op, 'ci-1'), await issue(op, 'ci-1'), await issue(minter, 'ci-1')];
    const kept = [await issue(minter, 'ci-2'), await issue(op, 'ci-10')];
    const ids = doomed.map(({ id }) => id);
    await using first = await connectWire(broker.url, { agent: 'ci-1', token: doomed[2]!.token });
    const revoked = await admin(op, 'token_revoke_agent', { agent: 'ci-1' });
    expect(revoked).toEqual({ agent: 'ci-1', ids: expect.toSatisfy((all) => sameNames(all, ids)) });
    expect((await first.closed).code).toBe(4401);
    const left = async () =>
      ((await admin(op, 'token_list', {})).tokens as { id: string }[]).map(({ id }) => id);
    expect(await left()).toEqual(expect.arrayContaining([minting.id, ...kept.map(({ id }) => id)]));
    expect(await left()).not.toEqual(expect.arrayContaining([ids[0]]));
    expect(await admin(op, 'token_revoke_agent', { agent: 'ci-1' })).toMatchObject({
      code: 'unknown_token',
      message: expect.stringContaining("did you mean 'ci-"),
    });
    // A pattern means the minting tokens with it, and what they issued.
    const all = await admin(op, 'token_revoke_agent', { agent: 'ci-*' });
    expect(all.ids).toEqual(expect.toSatisfy((names) => sameNames(names, [minting.id, kept[0]!.id])));
    expect(await left()).toContain(kept[1]!.id);
    await using other = await connectWire(broker.url, { agent: 'ci-10', token: kept[1]!.token });
    expect(await admin(other, 'token_revoke_agent', { agent: 'ci-10' })).toMatchObject({ code: 'forbidden' });
    expect(await admin(op, 'token_revoke_agent', { agent: 'operator' })).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining("'operator' is the agent that asks"),
    });
    expect(await left()).toContain(kept[1]!.id);
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
