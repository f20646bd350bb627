import { join } from 'node:path';
import type { BrokerClient } from '@signalbox/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import type { Approval } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { decisionOf, runs } from '../support/orchestrator/approvals.ts';
import { ask } from '../support/orchestrator/requests.ts';

const count = 'mcp_counter__count';

test('a call under ask runs once, when it is approved, and its caller hears meanwhile that it waits', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const heard: unknown[] = [];
  const called = rosa.execute(
    { name: count, arguments: { path: '/srv/prod', api_key: 'k-123456' } },
    {
      onProgress: (progress) => heard.push(progress),
      requestId: 'r1',
      meta: { 'com.example/mode': 'force', 'com.example/token': 'k-654321', progressToken: 1 },
    },
  );
  const [approval] = await stack.waits();
  expect(approval).toMatchObject({
    state: 'pending',
    request_id: 'r1',
    agent: 'rosa',
    role: 'worker',
    server: 'counter',
    tool: count,
    arguments: '{"path":"/srv/prod","api_key":"k-123456"}',
    meta: '{"com.example/mode":"force","com.example/token":"k-654321"}',
    rule: 'roles.worker.ask[0]',
  });
  expect(stack.ran('count')).toEqual([]);
  await expect
    .poll(() => heard)
    .toEqual([expect.objectContaining({ message: `waiting for approval ${approval!.id} by a person` })]);
  const reply = decisionOf(await stack.decide(approval!.id, { verdict: 'approve' }));
  expect(reply).toMatchObject({ decided: true, approval: { state: 'approved', by: { agent: 'operator' } } });
  expect(await called).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(runs(stack)).toBe(1);
  expect(await stack.pending()).toEqual([]);
});

test('a denied call does not run, and its caller reads why', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  expect(await stack.decide(approval!.id, { verdict: 'deny' })).toMatchObject({
    error: { code: 'invalid_arguments', message: expect.stringContaining("'reason'") },
  });
  await stack.decide(approval!.id, { verdict: 'deny', reason: 'not on Fridays' });
  const { error } = await called;
  expect(error).toMatchObject({ code: 'approval_denied', retryable: false, may_have_run: false });
  expect(error?.message).toContain('not on Fridays');
  expect(stack.ran('count')).toEqual([]);
});

test('of two decisions at once only the first counts, and the other says so', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  const { id } = approval as Approval;
  const replies = await Promise.all([
    stack.decide(id, { verdict: 'deny', reason: 'no' }),
    stack.decide(id, { verdict: 'approve' }),
  ]);
  const decisions = replies.map(decisionOf);
  expect(decisions.filter(({ decided }) => decided)).toHaveLength(1);
  const [state] = new Set(decisions.map(({ approval: one }) => one.state));
  const { error } = await called;
  expect(error?.code).toBe(state === 'denied' ? 'approval_denied' : undefined);
  expect(runs(stack)).toBe(state === 'denied' ? 0 : 1);
});

test('neither the agent itself, nor a token outside its roles, nor an observer decides; one with the role does', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  const { id } = approval as Approval;
  const refusalOf = async (client: BrokerClient) => {
    const reply = await stack.decide(id, { verdict: 'approve' }, client);
    return 'error' in reply ? `${reply.error.code}: ${reply.error.message}` : 'decided';
  };
  const own = await stack.approver('rosa#2', ['*'], 'worker');
  expect(await refusalOf(own)).toContain('permission_denied: nobody decides on its own calls');
  expect(await refusalOf(await stack.client('rosa'))).toContain(
    "permission operator or approver, and this one has the role 'worker'",
  );
  expect(await refusalOf(await stack.client('operator.viewer', 'observer'))).toContain(
    "permission operator or approver, and this one has the role 'observer'",
  );
  const elsewhere = await stack.approver('bridge', ['reader', 'work']);
  expect(await refusalOf(elsewhere)).toContain("decides on calls of 'reader', 'work'");
  expect(await stack.pending(elsewhere)).toEqual([]);
  const stored = await stack.operator.request(
    'orchestrator',
    'mcp_request',
    { op: 'decide', id, verdict: 'approve' },
    { timeoutMs: 20_000 },
  );
  expect(stored).toMatchObject({ reply: { json: { error: { code: 'permission_denied' } } } });
  expect(runs(stack)).toBe(0);
  const lead = await stack.approver('lead', ['reader', 'work*']);
  expect(await stack.pending(lead)).toEqual([approval]);
  expect(await refusalOf(lead)).toBe('decided');
  expect(await called).toHaveProperty('result.success', true);
});

test('a call on which nobody decides expires without having run, and a later decision says so', async () => {
  await using stack = await startAskingStack({ deadlineMs: 300 });
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  expect(await called).toMatchObject({
    error: { code: 'approval_expired', may_have_run: false, retryable: true },
  });
  expect(decisionOf(await stack.decide(approval!.id, { verdict: 'approve' }))).toMatchObject({
    decided: false,
    approval: { state: 'expired' },
  });
  expect(runs(stack)).toBe(0);
});

test('the same call joins the first while that waits, and both get the one reply; other arguments wait by themselves', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const args = { path: '/a', n: 1 };
  const first = rosa.execute({ name: count, arguments: args }, { requestId: 'one' });
  await stack.waits(1);
  const same = rosa.execute({ name: count, arguments: { n: 1, path: '/a' } }, { requestId: 'two' });
  const other = rosa.execute({ name: count, arguments: { ...args, n: 2 } }, { requestId: 'three' });
  const walt = await stack.executor('walt');
  const his = walt.execute({ name: count, arguments: args });
  const waiting = await stack.waits(3);
  const idOf = (requestId: string) => waiting.find(({ request_id }) => request_id === requestId)!.id;
  await expect
    .poll(() => ask(rosa.client, { op: 'status', request_id: 'two' }))
    .toMatchObject({ data: { state: 'awaiting_approval', approval: idOf('one') } });
  await stack.decide(idOf('one'), { verdict: 'approve' });
  const replies = await Promise.all([first, same]);
  expect(replies.map(({ result }) => result?.structuredContent)).toEqual([{ n: 1 }, { n: 1 }]);
  expect(replies[1]).toMatchObject({ result: { _meta: { 'signalbox/attached_to': 'one' } } });
  expect(runs(stack)).toBe(1);
  for (const { id } of await stack.pending()) await stack.decide(id, { verdict: 'deny', reason: 'no' });
  expect(await other).toMatchObject({ error: { code: 'approval_denied' } });
  expect(await his).toMatchObject({ error: { code: 'approval_denied' } });
  const again = rosa.execute({ name: count, arguments: args });
  await stack.waits(1);
  expect(runs(stack)).toBe(1);
  await stack.orchestrator.stop();
  await rosa.close();
  await again;
});

test('a call that its caller cancels while it waits never runs, although people can still decide on it', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const cancel = new AbortController();
  const called = rosa.execute({ name: count }, { signal: cancel.signal });
  const [approval] = await stack.waits();
  cancel.abort();
  expect(await called).toMatchObject({ error: { code: 'cancelled' } });
  await expect.poll(async () => (await stack.pending())[0]?.left_at).toBeTypeOf('number');
  expect(decisionOf(await stack.decide(approval!.id, { verdict: 'deny', reason: 'no' }))).toMatchObject({
    decided: true,
    approval: { state: 'denied' },
  });
  expect(runs(stack)).toBe(0);
});

test('a call waits on over a restart of its orchestrator, and a call that was cancelled meanwhile does not', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const cancel = new AbortController();
  const called = rosa.execute({ name: count, arguments: { n: 1 } });
  const calledOff = rosa.execute({ name: count, arguments: { n: 2 } }, { signal: cancel.signal });
  const waiting = await stack.waits(2);
  const idOf = (text: string) => waiting.find(({ arguments: args }) => args === text)!.id;
  await stack.orchestrator.stop();
  cancel.abort();
  expect(await calledOff).toMatchObject({ error: { code: 'cancelled' } });
  await using _next = await stack.restart();
  expect(decisionOf(await stack.decide(idOf('{"n":2}'), { verdict: 'approve' }))).toMatchObject({
    decided: true,
    approval: { state: 'approved', kept_until: expect.any(Number) },
  });
  expect(decisionOf(await stack.decide(idOf('{"n":1}'), { verdict: 'approve' })).decided).toBe(true);
  expect(await called).toHaveProperty('result.success', true);
  expect(runs(stack)).toBe(1);
});

test('an approval holds for one call: its request, sent again when journal and broker have forgotten the call, does not run', async () => {
  await using directory = await tempDir();
  const limits = { keptPerAgent: 0, calls: 0 };
  await using journal = await openSqliteJournal({
    file: join(directory.path, 'journal.db'),
    limits,
    pruneEveryMs: 20,
  });
  await using stack = await startAskingStack({}, { journal });
  const rosa = await stack.client('rosa');
  const call = async () => {
    const body = { op: 'call', tool: count, options: { idempotency_key: 'k' } };
    return await rosa.request('orchestrator', 'mcp_request', body, {
      id: 'r1',
      ephemeral: true,
      timeoutMs: 20_000,
    });
  };
  const first = call();
  const [approval] = await stack.waits();
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await first).toHaveProperty('reply.json.result.content');
  await expect.poll(() => journal.find({ agent: 'rosa', requestId: 'r1' })).toBeUndefined();
  expect(await call()).toMatchObject({ reply: { json: { error: { code: 'outcome_unknown' } } } });
  // Its key holds for no second call either, and its result is gone.
  const body = { op: 'call', tool: count, options: { idempotency_key: 'k' } };
  expect(await stack.ask(rosa, body)).toMatchObject({
    error: { code: 'outcome_unknown', message: expect.stringContaining('no longer kept') },
  });
  expect(runs(stack)).toBe(1);
});

const echo = 'mcp_counter__echo';

test('an operator decides neither on its own call nor with a token that it had issued, over however many hands', async () => {
  await using stack = await startAskingStack({ roles: { operator: [count] } });
  const issue = async (issuer: BrokerClient, agent: string) => {
    const { token } = await issuer.admin('token_issue', { agent, role: 'operator' });
    return await stack.connect(agent, token);
  };
  const bob = await issue(stack.operator, 'operator.bob');
  const eve = await issue(await issue(bob, 'operator.ann'), 'operator.eve');
  const asked = ask(bob, { op: 'call', tool: count });
  const [approval] = await stack.waits();
  const { id } = approval as Approval;
  for (const client of [bob, eve]) {
    expect(await stack.decide(id, { verdict: 'approve' }, client)).toMatchObject({
      error: { code: 'permission_denied' },
    });
  }
  expect(decisionOf(await stack.decide(id, { verdict: 'approve' })).decided).toBe(true);
  expect(await asked).toHaveProperty('result.content');
});

test('an approval does not hold for a tool whose definition changed, nor for a role that may no longer use it', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const first = rosa.execute({ name: count });
  const [one] = await stack.waits();
  // The operator's word on repeating a tool is a part of its definition.
  stack.orchestrator.setPolicy({ repeat: { never: [count] } });
  expect(decisionOf(await stack.decide(one!.id, { verdict: 'approve' }))).toMatchObject({
    decided: false,
    approval: { state: 'superseded', reason: expect.stringContaining('definition') },
  });
  expect(await first).toMatchObject({ error: { code: 'approval_superseded', may_have_run: false } });

  const second = rosa.execute({ name: count });
  const [two] = await stack.waits();
  stack.orchestrator.setPolicy({ allowlist: RoleToolAllowlist.fromEntries([['worker', [echo]]]) });
  await stack.decide(two!.id, { verdict: 'approve' });
  expect(await second).toMatchObject({ error: { code: 'permission_denied', may_have_run: false } });
  expect(runs(stack)).toBe(0);
});
