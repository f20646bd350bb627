import { connectWire } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { startAuditedBroker } from '../support/broker/audited-broker.ts';

const note = (id: string) => ({ type: 'deliver', to: 'bob', id, kind: 'note' });

describe('a revoked token', () => {
  it('ends its connection, and what is on its way then is not stored', async () => {
    await using audited = await startAuditedBroker();
    await audited.token('bob');
    const doomed = await audited.admin('token_issue', { agent: 'mallory', role: 'worker' });
    const kept = await audited.admin('token_issue', { agent: 'mallory', role: 'worker' });
    await using client = await connectWire(audited.url, { agent: 'mallory', token: String(doomed.token) });
    await using other = await connectWire(audited.url, { agent: 'mallory', token: String(kept.token) });
    client.send(note('before'), '{}');
    await client.next('delivered', { id: 'before' });
    // It doesn't read that it was cut off, and goes on sending.
    client.socket.pause();
    await audited.admin('token_revoke', { id: doomed.id });
    await audited.expectUnchanged(async () => {
      for (let i = 0; i < 200; i++) client.send(note(`after-${i}`), '{}');
      client.send({ type: 'subscribe', request_id: 's' });
      client.send({ type: 'admin', request_id: 'a', op: 'token_list' });
      client.socket.resume();
      expect((await client.closed).code).toBe(4401);
    });
    expect(client.received.filter(({ type }) => type === 'delivered')).toHaveLength(1);
    await audited.expectUnchanged(async () => {
      await using late = await connectWire(audited.url);
      late.send({ type: 'hello', agent: 'mallory', token: doomed.token, protocol: 1 });
      expect(await late.next('error')).toMatchObject({ code: 'unauthorized' });
    });
    other.send(note('twin'), '{}');
    expect(await other.next('delivered')).toMatchObject({ id: 'twin' });
    await audited.expectAudit({ ' unauthorized': 1 });
  });

  it('stores of a burst in flight exactly what has a receipt', async () => {
    await using audited = await startAuditedBroker();
    await audited.token('bob');
    const doomed = await audited.admin('token_issue', { agent: 'mallory', role: 'worker' });
    await using client = await connectWire(audited.url, { agent: 'mallory', token: String(doomed.token) });
    const burst = Array.from({ length: 900 }, (_, i) => `m${i}`);
    for (const id of burst) client.send(note(id), '{}');
    await Promise.all([audited.admin('token_revoke', { id: doomed.id }), client.closed]);
    const receipts = client.received.filter(({ type }) => type === 'delivered').map(({ id }) => id);
    const bob = await audited.connect('bob', { subscribe: false });
    bob.send({ type: 'peek', request_id: 'p', limit: 1000 });
    const stored = ((await bob.next('peeked')).messages as { id: string }[]).map(({ id }) => id);
    expect(stored.slice(0, receipts.length)).toEqual(receipts);
    expect(stored).toEqual(burst.slice(0, stored.length));
  });
});

describe('an expired token', () => {
  it('ends its connection, is refused at a hello, and a longer one goes on', async () => {
    let now = 1_000_000;
    await using audited = await startAuditedBroker({ now: () => now });
    await audited.token('bob');
    const brief = await audited.broker.token('mallory', 'worker', 5000);
    const long = await audited.broker.token('mallory', 'worker', 50_000);
    await using client = await connectWire(audited.url, { agent: 'mallory', token: brief });
    await using other = await connectWire(audited.url, { agent: 'mallory', token: long });
    client.send(note('in-time'), '{}');
    await client.next('delivered', { id: 'in-time' });
    now += 5000;
    expect((await client.closed).code).toBe(4401);
    await audited.expectUnchanged(async () => {
      await using late = await connectWire(audited.url);
      late.send({ type: 'hello', agent: 'mallory', token: brief, protocol: 1 });
      expect(await late.next('error')).toMatchObject({ code: 'unauthorized' });
    });
    other.send(note('twin'), '{}');
    expect(await other.next('delivered')).toMatchObject({ id: 'twin' });
    await audited.expectAudit({ ' unauthorized': 1 });
  });
});

describe('a minting token', () => {
  it('sends, reads and lists nothing, and what it may do works all the same', async () => {
    await using audited = await startAuditedBroker();
    await audited.token('bob');
    const mint = await audited.admin('token_issue', { agent: 'ci-*', role: 'tester' });
    await using minter = await connectWire(audited.url, { agent: 'ci-0', token: String(mint.token) });
    for (const frame of [
      note('m'),
      { type: 'subscribe', request_id: 'r' },
      { type: 'ack', seqs: [1], request_id: 'r' },
      { type: 'working', seqs: [1] },
      { type: 'cancel', to: 'bob', correlation_id: 'm' },
      { type: 'announce', status: 'here' },
      { type: 'list_connected', request_id: 'r' },
      { type: 'peek', request_id: 'r' },
    ]) {
      await audited.expectRefused(minter, frame, { code: 'forbidden' });
    }
    minter.send({
      type: 'admin',
      request_id: 'i',
      op: 'token_issue',
      params: { agent: 'ci-1', role: 'tester' },
    });
    const { result } = await minter.next('admin_result');
    const child = (result as { token: string }).token;
    await using worker = await connectWire(audited.url, { agent: 'ci-1', token: child });
    worker.send(note('from-child'), '{}');
    expect(await worker.next('delivered')).toMatchObject({ id: 'from-child' });
    await audited.expectAudit();
  });

  it('mints nothing beyond its pattern, role and life, no reserved name, and revokes no child of another', async () => {
    await using audited = await startAuditedBroker();
    const open = async (agent: string, role: string, as: string) => {
      const mint = await audited.admin('token_issue', { agent, role, ttl_ms: 60_000 });
      return connectWire(audited.url, { agent: as, token: String(mint.token) });
    };
    await using minter = await open('op*', 'tester', 'op-minter');
    await using other = await open('ci-*', 'tester', 'ci-minter');
    const issue = (params: Record<string, unknown>) => ({
      type: 'admin',
      request_id: 'i',
      op: 'token_issue',
      params,
    });
    for (const [params, error] of [
      [
        { agent: 'ci-1', role: 'tester' },
        { code: 'forbidden', field: 'agent' },
      ],
      [
        { agent: 'o', role: 'tester' },
        { code: 'forbidden', field: 'agent' },
      ],
      [
        { agent: 'op*', role: 'tester' },
        { code: 'forbidden', field: 'agent' },
      ],
      [
        { agent: 'operator', role: 'tester' },
        { code: 'forbidden', field: 'agent' },
      ],
      [
        { agent: 'op.e-rator', role: 'tester' },
        { code: 'forbidden', field: 'agent' },
      ],
      [
        { agent: 'operator', role: 'operator' },
        { code: 'forbidden', field: 'agent' },
      ],
      [
        { agent: 'op-1', role: 'orchestrator' },
        { code: 'forbidden', field: 'role' },
      ],
      [
        { agent: 'op-1', role: 'tester', ttl_ms: 120_000 },
        { code: 'forbidden', field: 'ttl_ms' },
      ],
      [
        { agent: 'Op-1', role: 'tester' },
        { code: 'bad_frame', field: 'agent' },
      ],
      [
        { agent: 'op#1', role: 'tester' },
        { code: 'bad_frame', field: 'agent' },
      ],
    ] as const) {
      await audited.expectRefused(minter, issue(params), error);
    }
    other.send(issue({ agent: 'ci-1', role: 'tester', ttl_ms: 1000 }));
    const { result } = await other.next('admin_result');
    const { id } = result as { id: string };
    const revoke = { type: 'admin', request_id: 'r', op: 'token_revoke', params: { id } };
    await audited.expectRefused(minter, revoke, { code: 'unknown_token' });
    for (const op of ['token_list', 'dead_list', 'dead_drop', 'history', 'audit', 'stats']) {
      minter.send({ type: 'admin', request_id: 'x', op, params: { since: 0, seqs: [1] } });
      expect((await minter.next(['error', 'admin_result'], { request_id: 'x' })).type).toBe('error');
    }
    minter.send(issue({ agent: 'op-1', role: 'tester', ttl_ms: 1000 }));
    expect(await minter.next('admin_result')).toMatchObject({ result: { agent: 'op-1', role: 'tester' } });
    other.send(revoke);
    expect(await other.next('admin_result')).toMatchObject({ result: { id, revoked: true } });
  });

  it('is of no use once it is revoked, nor are its children', async () => {
    await using audited = await startAuditedBroker();
    const mint = await audited.admin('token_issue', { agent: 'ci-*', role: 'tester' });
    await using minter = await connectWire(audited.url, { agent: 'ci-0', token: String(mint.token) });
    minter.send({
      type: 'admin',
      request_id: 'i',
      op: 'token_issue',
      params: { agent: 'ci-1', role: 'tester' },
    });
    const { result } = await minter.next('admin_result');
    const child = (result as { token: string }).token;
    await using worker = await connectWire(audited.url, { agent: 'ci-1', token: child });
    const grown = await audited.token('ci-2', 'tester');
    await using independent = await connectWire(audited.url, { agent: 'ci-2', token: grown });
    await audited.admin('token_revoke', { id: mint.id });
    expect((await minter.closed).code).toBe(4401);
    expect((await worker.closed).code).toBe(4401);
    independent.send({ type: 'peek', request_id: 'p' });
    expect(await independent.next('peeked')).toMatchObject({ messages: [] });
  });
});

describe('a token with the name of an orchestrator and another role', () => {
  const issue = (agent: string, role: string) => ({
    type: 'admin',
    request_id: 'i',
    op: 'token_issue',
    params: { agent, role },
  });
  const says = expect.stringContaining("'orch-1' is an orchestrator, and the role of this token is 'worker'");

  it('is issued by nobody, also while the token of the orchestrator has expired', async () => {
    let now = 1_000_000;
    await using audited = await startAuditedBroker({ now: () => now });
    await audited.broker.token('orch-1', 'orchestrator', 4000);
    const mint = await audited.admin('token_issue', { agent: 'o*', role: 'worker' });
    await using minter = await connectWire(audited.url, { agent: 'o-1', token: String(mint.token) });
    for (const elapsed of [0, 4000]) {
      now += elapsed;
      const refusal = { code: 'forbidden', field: 'agent', message: says };
      await audited.expectRefused(minter, issue('orch-1', 'worker'), refusal);
      expect(await audited.admin('token_issue', { agent: 'orch-1', role: 'worker' })).toMatchObject(refusal);
      await expect(audited.broker.token('orch-1', 'worker')).rejects.toMatchObject({ code: 'forbidden' });
    }
    minter.send(issue('orch-2', 'worker'));
    expect(await minter.next('admin_result')).toMatchObject({ result: { agent: 'orch-2' } });
    expect(await audited.admin('token_issue', { agent: 'orch-1', role: 'orchestrator' })).toHaveProperty(
      'id',
    );
  });

  it('is of no use any more once the agent is an orchestrator, and gets none of its calls', async () => {
    let now = 1_000_000;
    await using audited = await startAuditedBroker({ now: () => now });
    const early = await audited.broker.token('orch-1', 'worker');
    const mint = await audited.admin('token_issue', { agent: 'o*', role: 'worker' });
    await using worker = await connectWire(audited.url, { agent: 'orch-1', token: early });
    await using part = await connectWire(audited.url, { agent: 'orch-1#part', token: early });
    await using minter = await connectWire(audited.url, { agent: 'orch-1', token: String(mint.token) });
    const rosa = await audited.connect('rosa');
    worker.send({ type: 'subscribe', request_id: 's' });
    await worker.next('subscribed');
    const token = await audited.broker.token('orch-1', 'orchestrator', 4000);
    await using orchestrator = await connectWire(audited.url, { agent: 'orch-1', token });
    orchestrator.send({ type: 'subscribe', request_id: 's' });
    await orchestrator.next('subscribed');
    rosa.send({ type: 'deliver', to: 'orch-1', id: 'call', kind: 'mcp_request' }, '{"secret":1}');
    await rosa.next('delivered', { id: 'call' });
    expect(await orchestrator.next('message')).toMatchObject({ id: 'call', from: { agent: 'rosa' } });
    for (const ended of [worker, part, minter]) {
      expect((await ended.closed).code).toBe(4401);
      expect(ended.received.at(-1)).toMatchObject({ type: 'error', code: 'unauthorized', message: says });
      expect(ended.received.filter(({ type }) => type === 'message')).toEqual([]);
    }
    for (const elapsed of [0, 4000]) {
      now += elapsed;
      await using late = await connectWire(audited.url);
      late.send({ type: 'hello', agent: 'orch-1', token: early, protocol: 1 });
      expect(await late.next('error')).toMatchObject({
        code: 'forged_sender',
        field: 'agent',
        message: says,
      });
    }
  });
});

describe('administration', () => {
  it('needs the operator’s token: no worker, orchestrator or claimed role gets an answer', async () => {
    await using audited = await startAuditedBroker();
    const worker = await audited.connect('worker');
    const orchestrator = await audited.connect('orchestrator', { role: 'orchestrator' });
    const named = await audited.connect('stats', { role: 'admin' });
    for (const client of [worker, orchestrator, named]) {
      for (const op of [
        'token_issue',
        'token_list',
        'token_revoke',
        'dead_list',
        'history',
        'audit',
        'no_op',
      ]) {
        // An orchestrator reads the rows that it has reported itself.
        if (op === 'audit' && client === orchestrator) continue;
        const frame = { type: 'admin', request_id: 'a', op, params: { agent: 'x', role: 'operator' } };
        await audited.expectRefused(client, frame, { code: 'forbidden', request_id: 'a' });
      }
    }
    expect(await audited.admin('token_list', {})).toHaveProperty('tokens');
    await audited.expectAudit();
  });
});
