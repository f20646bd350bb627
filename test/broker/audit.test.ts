import { brokerFiles } from '@signalbox/broker';
import { connectBroker } from '@signalbox/client';
import { auditRows, readAudit, readAuditChain } from '@signalbox/client/operator';
import { type AdminResult, type AuditEntryKind, auditEntryKinds } from '@signalbox/protocol';
import { AuditChainCheck } from '@signalbox/store/internal';
import {
  areStoresInFiles,
  connectWire,
  startBrokerProcess,
  startTestBroker,
  type TestBroker,
  tempDir,
} from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';

async function operatorOf(broker: TestBroker) {
  const token = await broker.token('operator.alice', 'operator');
  return connectBroker({ url: broker.url, token, agent: 'operator.alice' });
}

async function entriesOf(client: Awaited<ReturnType<typeof operatorOf>>, ...kinds: AuditEntryKind[]) {
  return (await readAudit(client, { since: 0, kinds, limit: 100_000 })).entries;
}

it('names the operator of each act and of what it read', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  const alice = await operatorOf(broker);
  const bob = await connectBroker({ url: broker.url, token: await broker.token('bob'), agent: 'bob' });
  try {
    await bob.deliver({ to: 'operator', kind: 'note', id: 'n1', body: 'hush' });
    const { id } = await alice.admin('token_issue', { agent: 'cara', role: 'worker', ttl_ms: 60_000 });
    await alice.admin('token_revoke', { id });
    await alice.admin('tail', { on: true, agent: 'bob' });
    await alice.admin('history', { since: 0 });
    await alice.peek({ address: 'operator' });
    await alice.peek();
    expect(await entriesOf(alice, 'change')).toMatchObject([
      {
        code: 'broker_started',
        detail: expect.stringMatching(/the rules for roles have the hash [0-9a-f]{16}$/),
      },
      { code: 'token_issued', name: 'operator' },
      { code: 'token_issued', name: 'operator.alice' },
      { code: 'token_issued', name: 'bob' },
      { code: 'token_issued', name: 'cara', agent: 'operator.alice', token_id: expect.any(String) },
      { code: 'token_revoked', name: 'cara', agent: 'operator.alice' },
    ]);
    const reads = await entriesOf(alice, 'read');
    expect(reads).toMatchObject(
      [
        { agent: 'operator.alice', code: 'audit_read' },
        { agent: 'operator.alice', code: 'tail_followed', name: 'bob' },
        { agent: 'operator.alice', code: 'history_read' },
        { agent: 'operator.alice', code: 'inbox_read', name: 'operator', detail: '1 messages' },
      ].sort((a, b) => (a.code === 'audit_read' ? 1 : b.code === 'audit_read' ? -1 : 0)),
    );
    expect(await entriesOf(alice, 'connect')).toMatchObject([{ agent: 'operator.alice' }, { agent: 'bob' }]);
    expect(JSON.stringify(await entriesOf(alice, ...auditEntryKinds))).not.toContain('hush');
  } finally {
    await alice.close();
    await bob.close();
  }
});

it('tells in pages by time what it holds, and its chains are whole in a flood of refusals and reads', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  const alice = await operatorOf(broker);
  await using mallory = await connectWire(broker.url, {
    agent: 'mallory',
    token: await broker.token('mallory'),
  });
  try {
    for (let i = 0; i < 120; i++) mallory.send({ type: 'peek', request_id: `p${i}`, address: `agent-${i}` });
    await mallory.next('error', { request_id: 'p119' });
    for (const kind of auditEntryKinds) {
      const check = new AuditChainCheck();
      for (;;) {
        const { rows, chain } = await readAuditChain(alice, kind, check.after);
        expect(check.check(rows, chain, rows.length < 1000)).toBeUndefined();
        if (rows.length < 1000) break;
      }
    }
    const refusals = await entriesOf(alice, 'refusal');
    expect(refusals.reduce((sum, { count }) => sum + count, 0)).toBe(120);
    expect(refusals.length).toBeLessThan(20);
    const numbers: number[] = [];
    for await (const { number } of auditRows(alice, { since: 0 })) numbers.push(number);
    expect(new Set(numbers).size).toBe(numbers.length);
    for (const params of [
      { since: 0, kinds: [] },
      { since: 0, after: -1 },
    ]) {
      await expect(alice.admin('audit', params)).rejects.toMatchObject({ code: 'bad_frame' });
    }
  } finally {
    await alice.close();
  }
});

it('takes the times of an orchestrator within a minute before its own, and none that are later', async () => {
  const now = 1_800_000_000_000;
  await using broker = await startTestBroker({ durability: 'process', now: () => now });
  await using alice = await operatorOf(broker);
  const token = await broker.token('orchestrator', 'orchestrator');
  await using orchestrator = await connectBroker({ url: broker.url, token, agent: 'orchestrator' });
  const ended = { code: 'call_ended', agent: 'rosa', role: 'worker', name: 'mcp_a__b', detail: '' } as const;
  const times = [now, now - 59_999, now + 1, now - 60_000, 0, undefined];
  for (const [i, sentAt] of times.entries()) {
    await orchestrator.audit(`b${i}`, [{ ...ended, ago_ms: 250 }], sentAt);
  }
  const believed = [now, now - 59_999, now, now, now, now].map((at) => at - 250);
  const recorded: number[] = [];
  for await (const { entry } of auditRows(alice, { since: 0, kinds: ['call'] }))
    recorded.push(JSON.parse(entry).at);
  expect(recorded).toEqual(believed);
  // A page is ordered by time, the log by the row before.
  expect((await entriesOf(alice, 'call')).map(({ at }) => at)).toEqual(believed.sort((a, b) => a - b));
  const old = orchestrator.audit('b9', [{ ...ended, ago_ms: 86_400_001 }]);
  await expect(old).rejects.toMatchObject({ code: 'bad_frame', message: expect.stringContaining('ago_ms') });
});

it('lets an orchestrator read the events that it reported, page by page, and nobody else without a permission any', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  const names = ['orchestrator', 'orchestrator-2'];
  await using ends = new AsyncDisposableStack();
  const connect = async (agent: string, role?: string) =>
    ends.use(await connectBroker({ url: broker.url, token: await broker.token(agent, role), agent }));
  const [own, other] = [await connect(names[0]!, 'orchestrator'), await connect(names[1]!, 'orchestrator')];
  const ended = { code: 'call_ended', agent: 'rosa', role: 'worker', name: 'mcp_a__b', detail: '' } as const;
  await own.audit('b1', [{ ...ended, request_id: 'r1' }]);
  await other.audit('b1', [{ ...ended, request_id: 'r2' }]);
  await own.audit('b2', [{ ...ended, request_id: 'r3' }]);
  const pages: unknown[] = [];
  for (let next: number | undefined = 0; next !== undefined; ) {
    const page: AdminResult<'audit'> = await own.admin('audit', {
      since: 0,
      kinds: ['call'],
      limit: 1,
      after: next,
    });
    pages.push(...page.rows.map(({ entry }) => JSON.parse(entry).request_id));
    ({ next } = page);
  }
  expect(pages).toEqual(['r1', 'r3']);
  await expect(own.admin('audit_chain', { kind: 'call' })).rejects.toMatchObject({ code: 'forbidden' });
  const rosa = await connect('rosa', 'worker');
  await expect(rosa.admin('audit', { since: 0 })).rejects.toMatchObject({ code: 'forbidden' });
});

it.runIf(areStoresInFiles)(
  'loses no change at kill -9, and none of what an orchestrator was told is recorded',
  async () => {
    await using directory = await tempDir();
    const dataDir = `${directory.path}/data`;
    await using broker = await startBrokerProcess(dataDir);
    const token = await broker.operatorToken();
    const operator = await connectBroker({ url: broker.url, token, agent: 'operator' });
    const issued = await operator.admin('token_issue', { agent: 'orchestrator', role: 'orchestrator' });
    const orchestrator = await connectBroker({
      url: broker.url,
      token: issued.token,
      agent: 'orchestrator',
    });
    const event = {
      code: 'call_ended',
      agent: 'rosa',
      role: 'worker',
      name: 'mcp_a__b',
      detail: '',
    } as const;
    await orchestrator.audit('b1', [{ ...event, ago_ms: 5000, outcome: 'ok', request_id: 'r1' }]);
    await orchestrator.audit('b1', [{ ...event, outcome: 'ok', request_id: 'r1' }]);
    const { id } = await operator.admin('token_issue', { agent: 'rosa', role: 'worker' });
    await broker.kill();
    await Promise.all([operator.close(), orchestrator.close()]);
    const db = new Database(brokerFiles(dataDir).audit, { readonly: true });
    const entries = db
      .prepare<[], string>('SELECT entry FROM audit_change UNION ALL SELECT entry FROM audit_call')
      .pluck()
      .all()
      .map((entry) => JSON.parse(entry));
    db.close();
    expect(entries.filter(({ kind }) => kind === 'call')).toMatchObject([
      { agent: 'rosa', request_id: 'r1', reported_by: 'orchestrator', outcome: 'ok' },
    ]);
    expect(entries.filter(({ kind }) => kind === 'change').at(-1)).toMatchObject({
      code: 'token_issued',
      detail: expect.stringContaining(id),
    });
  },
);

it.runIf(areStoresInFiles)(
  'records each change of tokens before its commit, so that a death in between leaves a row and no token without one, and records none that is refused',
  async () => {
    await using directory = await tempDir();
    const dataDir = `${directory.path}/data`;
    await (await startTestBroker({ dataDir, durability: 'process' }))[Symbol.asyncDispose]();
    const db = new Database(brokerFiles(dataDir).tokens);
    db.exec(`
    CREATE TABLE nobody (id TEXT PRIMARY KEY);
    CREATE TABLE late (id TEXT REFERENCES nobody DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER late_carl AFTER INSERT ON token WHEN new.agent = 'carl' BEGIN INSERT INTO late VALUES ('x'); END;
    CREATE TRIGGER no_cara BEFORE INSERT ON token WHEN new.agent = 'cara' BEGIN SELECT raise(ABORT, 'no'); END;
    CREATE TRIGGER no_removal BEFORE DELETE ON token BEGIN SELECT raise(ABORT, 'no'); END;`);
    db.close();
    await using broker = await startTestBroker({ dataDir, durability: 'process' });
    const alice = await operatorOf(broker);
    try {
      const { id } = await alice.admin('token_issue', { agent: 'dora', role: 'worker' });
      for (const agent of ['carl', 'cara'])
        await expect(alice.admin('token_issue', { agent, role: 'worker' })).rejects.toThrow();
      await expect(alice.admin('token_revoke', { id })).rejects.toThrow();
      const { tokens } = await alice.admin('token_list', {});
      expect(tokens.map(({ agent }) => agent)).toContain('dora');
      expect(tokens.map(({ agent }) => agent)).not.toContain('carl');
      expect((await entriesOf(alice, 'change')).slice(-2)).toMatchObject([
        { code: 'token_issued', name: 'dora', agent: 'operator.alice' },
        { code: 'token_issued', name: 'carl', agent: 'operator.alice' },
      ]);
    } finally {
      await alice.close();
    }
  },
);

it.runIf(areStoresInFiles)(
  'issues no token to a minting token when the log of changes is full, but to an operator',
  async () => {
    await using directory = await tempDir();
    const dataDir = `${directory.path}/data`;
    let mint: string;
    {
      await using broker = await startTestBroker({ dataDir, durability: 'process' });
      mint = await broker.token('ci-*', 'tester');
    }
    const db = new Database(brokerFiles(dataDir).audit);
    db.exec("UPDATE chain SET bytes = 1073741824 WHERE kind = 'change'");
    db.close();
    await using broker = await startTestBroker({ dataDir, durability: 'process' });
    await using minter = await connectWire(broker.url, { agent: 'ci-0', token: mint });
    const params = { agent: 'ci-1', role: 'tester' };
    minter.send({ type: 'admin', request_id: 'i', op: 'token_issue', params });
    expect(await minter.next('error')).toMatchObject({ code: 'storage_full' });
    const alice = await operatorOf(broker);
    expect(await alice.admin('token_issue', params)).toHaveProperty('token');
    await alice.close();
  },
);
