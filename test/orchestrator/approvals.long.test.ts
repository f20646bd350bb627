import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { queryOrchestrator } from '@signalbox/client/operator';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import type { Approval, AuditEntry } from '@signalbox/protocol';
import { counterServer, tempDir } from '@signalbox/testing';
import type { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { decisionOf, runs } from '../support/orchestrator/approvals.ts';
import { explained } from '../support/orchestrator/explained-step.ts';
import { ask } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

test('a call that waits holds no place of the scheduler, and calls of other tools do not wait', async () => {
  await using stack = await startAskingStack({}, { concurrency: { global: 1, perWorker: 1 } });
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  expect(await rosa.execute({ name: echo, arguments: { a: 1 } })).toHaveProperty('result.success', true);
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await called).toHaveProperty('result.success', true);
});

test('a minting token issues no token that decides, and an operator issues one', async () => {
  await using stack = await startAskingStack();
  const { token } = await stack.broker.broker.issueToken({ agent: 'ci-*', role: 'worker' });
  const minter = await stack.connect('ci-0', token);
  const child = { agent: 'ci-1', role: 'worker', approves: ['*'] };
  await expect(minter.admin('token_issue', child)).rejects.toMatchObject({ code: 'forbidden' });
  await expect(stack.operator.admin('token_issue', child)).resolves.toMatchObject({ approves: ['*'] });
  const pattern = { agent: 'ci-*', role: 'worker', approves: ['*'] };
  await expect(stack.operator.admin('token_issue', pattern)).rejects.toMatchObject({ code: 'bad_frame' });
});

test('calls with one idempotency_key are one call, and another call with it is refused', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.client('rosa');
  const call = (n: number) =>
    ask(rosa, { op: 'call', tool: count, arguments: { n }, options: { idempotency_key: 'k' } });
  const first = call(1);
  const [approval] = await stack.waits();
  expect(await call(2)).toMatchObject({ error: { code: 'invalid_arguments', may_have_run: false } });
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await first).toHaveProperty('result.content');
  expect(await call(1)).toHaveProperty('result.structuredContent', { n: 1 });
  expect(await call(2)).toMatchObject({ error: { code: 'invalid_arguments' } });
  expect(runs(stack)).toBe(1);
});

test('so many calls of one agent wait, so many of all, and the next is refused at once', async () => {
  await using stack = await startAskingStack({}, { approvalLimits: { perAgent: 2, perMinter: 3, all: 3 } });
  const call = (executor: McpProxyExecutor, n: number) => executor.execute({ name: count, arguments: { n } });
  const [rosa, walt, ines] = await Promise.all(['rosa', 'walt', 'ines'].map((name) => stack.executor(name)));
  const waiting = [call(rosa!, 1), call(rosa!, 2)];
  await stack.waits(2);
  for (const n of [1, 3]) {
    expect(await call(rosa!, n)).toMatchObject({
      error: { code: 'quota_exceeded', message: expect.stringContaining("2 calls of 'rosa'") },
    });
  }
  waiting.push(call(walt!, 1));
  await stack.waits(3);
  expect(await call(ines!, 1)).toMatchObject({
    error: { code: 'quota_exceeded', may_have_run: false, message: expect.stringContaining('of all agents') },
  });
  for (const { id } of await stack.pending()) await stack.decide(id, { verdict: 'approve' });
  await Promise.all(waiting);
  expect(runs(stack)).toBe(3);
});

test('the agents of one minting token leave places to others, also over a restart', async () => {
  const approvalLimits = { perAgent: 2, perMinter: 3, all: 8 };
  await using stack = await startAskingStack({}, { approvalLimits });
  const call = (executor: McpProxyExecutor, n: number) => executor.execute({ name: count, arguments: { n } });
  const tokens = await stack.minted('ci-1', 'ci-2');
  const [one, two] = await Promise.all(
    tokens.map((token, i) => stack.executor(`ci-${i + 1}`, 'worker', { token })),
  );
  const waiting = [call(one!, 1), call(one!, 2), call(two!, 1)];
  await stack.waits(3);
  const refused = {
    error: {
      code: 'quota_exceeded',
      message: expect.stringContaining('its minting token'),
      may_have_run: false,
    },
  };
  expect(await call(two!, 2)).toMatchObject(refused);
  await stack.orchestrator.stop();
  await using _again = await stack.restart();
  await stack.waits(3);
  expect(await call(two!, 3)).toMatchObject(refused);
  const rosa = await stack.executor('rosa');
  waiting.push(call(rosa, 1));
  await stack.waits(4);
  for (const { id } of await stack.pending()) await stack.decide(id, { verdict: 'approve' });
  await Promise.all(waiting);
  expect(runs(stack)).toBe(4);
});

test('a standing approval ends with the token of its giver', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const lead = await stack.approver('lead', ['worker']);
  const first = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  const given = decisionOf(await stack.decide(approval!.id, { verdict: 'approve', for_ms: 60_000 }, lead));
  await first;
  expect(await rosa.execute({ name: count, arguments: { n: 2 } })).toHaveProperty('result.success', true);
  const standing = () => stack.ask(stack.operator, { op: 'standing_approvals' });
  expect(await standing()).toEqual({ data: { standing: [given.standing] } });
  await stack.operator.admin('token_revoke', { id: given.standing!.by.token_id });
  const third = rosa.execute({ name: count, arguments: { n: 3 } });
  const [asked] = await stack.waits();
  expect(await standing()).toEqual({ data: { standing: [] } });
  await stack.decide(asked!.id, { verdict: 'deny', reason: 'enough' });
  expect(await third).toMatchObject({ error: { code: 'approval_denied' } });
  const told = async () => (await stack.operator.admin('audit', { since: 0 })).rows.map(({ entry }) => entry);
  await expect.poll(told).toContainEqual(expect.stringContaining("of 'lead' decides no more"));
});

test('a standing approval lets calls of the same agent and tool pass until it is revoked', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const first = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  const { standing } = decisionOf(await stack.decide(approval!.id, { verdict: 'approve', for_ms: 60_000 }));
  await first;
  expect(await rosa.execute({ name: count, arguments: { n: 2 } })).toHaveProperty('result.success', true);
  expect(await stack.ask(stack.operator, { op: 'standing_approvals' })).toEqual({
    data: { standing: [standing] },
  });
  const walt = await stack.executor('walt');
  const his = walt.execute({ name: count });
  await stack.waits(1);
  await stack.ask(stack.operator, { op: 'revoke_standing', id: standing!.id });
  const third = rosa.execute({ name: count, arguments: { n: 3 } });
  for (const { id } of await stack.waits(2)) await stack.decide(id, { verdict: 'deny', reason: 'enough' });
  expect([await his, await third]).toMatchObject([
    { error: { code: 'approval_denied' } },
    { error: { code: 'approval_denied' } },
  ]);
  expect(runs(stack)).toBe(2);
});

test('rules that change while a call waits for its turn have it refused rather than run without a decision', async () => {
  await using stack = await startAskingStack({ roles: {} }, { concurrency: { perWorker: 1 } });
  const rosa = await stack.executor('rosa');
  const opener = `${stack.directory}/open`;
  const holder = rosa.execute({ name: 'mcp_counter__gate', arguments: { file: opener } });
  await expect.poll(() => stack.ran('gate').length).toBe(1);
  const queued = rosa.execute({ name: count }, { requestId: 'queued' });
  await expect
    .poll(() => ask(rosa.client, { op: 'status', request_id: 'queued' }))
    .toEqual({ data: { state: 'queued' } });
  stack.orchestrator.setPolicy({ approvals: { roles: { worker: [count] }, deadlineMs: 1000, notify: [] } });
  await writeFile(opener, '');
  expect(await queued).toMatchObject({ error: { code: 'approval_superseded', may_have_run: false } });
  await holder;
  expect(runs(stack)).toBe(0);
});

test('an agent named in notify gets a note of each call that waits', async () => {
  await using stack = await startAskingStack({ notify: ['bridge'] });
  const bridge = await stack.clientAt('bridge', 'lead');
  const inbox = await bridge.subscribe();
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count, arguments: { n: 7 } });
  const { value: note } = await inbox.messages.next();
  expect(note).toMatchObject({ kind: 'note', from: { agent: 'orchestrator' } });
  const { approval } = JSON.parse(note.body) as { approval: Approval };
  expect(approval).toMatchObject({ agent: 'rosa', tool: count, arguments: '{"n":7}', state: 'pending' });
  await stack.decide(approval.id, { verdict: 'approve' });
  await called;
});

test('the audit log tells of a call that it was proposed, decided on, started, ended and answered', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count }, { requestId: 'r1' });
  const [approval] = await stack.waits();
  await stack.decide(approval!.id, { verdict: 'approve', reason: 'fine' });
  await called;
  const facts = async () => {
    const { rows } = await stack.operator.admin('audit', { since: 0 });
    const entries = rows.map(({ entry }) => JSON.parse(entry) as AuditEntry);
    return entries.filter(({ request_id: id }) => id === 'r1');
  };
  await expect
    .poll(async () => (await facts()).map(({ code }) => code).sort())
    .toEqual(['approval_decided', 'call_answered', 'call_ended', 'call_proposed', 'call_started']);
  const decided = (await facts()).find(({ code }) => code === 'approval_decided');
  expect(decided).toMatchObject({ agent: 'operator', outcome: 'approved' });
  expect(decided?.detail).toMatch(/^approval \w+ of 'rosa' approved by 'operator' with token \S+: fine$/);
});

test('a call whose tool is unknown when its request comes again waits on, and starts with the arguments that were approved', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const slow = { name: 'mcp_counter__slow', arguments: { ms: '1' } };
  const called = rosa.execute(slow);
  const [approval] = await stack.waits();
  expect(approval!.arguments).toBe('{"ms":1}');
  await stack.orchestrator.stop();
  await stack.host.apply({});
  await using _next = await stack.restart();
  expect(await stack.waits()).toEqual([approval]);
  await stack.host.apply({ counter: counterServer(`${stack.directory}/counter.jsonl`) });
  expect(decisionOf(await stack.decide(approval!.id, { verdict: 'approve' })).decided).toBe(true);
  expect(await called).toHaveProperty('result.success', true);
  expect(stack.ran('slow').map(({ args }) => args)).toEqual([{ ms: 1 }, { ms: 1 }]);
});

test('a call whose arguments are short enough only as its tool gets them waits on while its tool is unknown', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const meta = { 'com.example/mode': 'force' };
  // The quotes around the number are too much.
  const label = 'x'.repeat(
    64 * 1024 - JSON.stringify({ ms: 1, label: '' }).length - JSON.stringify(meta).length,
  );
  const called = rosa.execute({ name: 'mcp_counter__slow', arguments: { ms: '1', label } }, { meta });
  const [approval] = await stack.waits();
  expect(approval).toMatchObject({ meta: JSON.stringify(meta) });
  await stack.orchestrator.stop();
  await stack.host.apply({});
  await using _next = await stack.restart();
  expect(await stack.waits()).toEqual([approval]);
  await stack.host.apply({ counter: counterServer(`${stack.directory}/counter.jsonl`) });
  expect(decisionOf(await stack.decide(approval!.id, { verdict: 'approve' })).decided).toBe(true);
  expect(await called).toHaveProperty('result.success', true);
  expect(stack.ran('slow').map(({ args }) => args)).toEqual([
    { ms: 1, label },
    { ms: 1, label },
  ]);
});

test('an approved call of a safe tool is made once, too: its start is written, and it is not repeated', async () => {
  await using stack = await startAskingStack({ roles: { worker: [echo] } });
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: echo, arguments: { a: 1 } }, { requestId: 'first' });
  const [approval] = await stack.waits();
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await called).toHaveProperty('result.success', true);
  const key = { agent: 'rosa', requestId: 'first' };
  expect(await stack.journal.find(key)).toMatchObject({
    startedAt: expect.any(Number),
    end: { outcome: 'ok' },
  });
  // As a process leaves it that died after the start.
  const started = { agent: 'rosa', requestId: 'again', role: 'worker', tool: echo };
  const record = (await stack.journal.approvals.of(key))!;
  await stack.journal.approvals.propose({ ...record, id: 'left', requestId: 'again' }, record.end);
  await stack.journal.start({ ...started, receivedAt: 1, startedAt: 2, inbox: 'i', lifetimeMs: 1000 });
  expect(await rosa.execute({ name: echo, arguments: { a: 1 } }, { requestId: 'again' })).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  expect(stack.ran('echo').filter(({ at }) => at === 'start')).toHaveLength(1);
});

test('a call is approved while its server is down, and says so when it cannot start', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  await ask(stack.operator, { op: 'stop', server: 'counter' });
  expect(decisionOf(await stack.decide(approval!.id, { verdict: 'approve' })).decided).toBe(true);
  expect(await called).toMatchObject({ error: { code: 'mcp_server_unreachable', may_have_run: false } });
  expect(runs(stack)).toBe(0);
});

test('an approved call waits for its server as long as its caller does, also if nobody knows yet which tools the server has', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count }, { requestId: 'r1' });
  const [approval] = await stack.waits();
  await stack.orchestrator.stop();
  await stack.host.apply({});
  await using _next = await stack.restart();
  await stack.waits();
  const gate = join(stack.directory, 'gate');
  execFileSync('mkfifo', [gate]);
  const { command, args, env } = counterServer(`${stack.directory}/counter.jsonl`);
  const gated = {
    type: 'stdio' as const,
    command: 'sh',
    args: ['-c', 'read _ < "$0"; exec "$@"', gate, command, ...args],
    env,
  };
  const applied = stack.host.apply({ counter: gated });
  expect(decisionOf(await stack.decide(approval!.id, { verdict: 'approve' })).decided).toBe(true);
  await expect
    .poll(() => ask(rosa.client, { op: 'status', request_id: 'r1' }))
    .toEqual({ data: { state: 'queued' } });
  await writeFile(gate, '\n');
  expect(await called).toHaveProperty('result.success', true);
  expect(runs(stack)).toBe(1);
  await applied;
});

test('an approved call that ends before it is sent says whether its approval still holds for the same call, and why not', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const budget = (calls: number) => ({ budgets: { perWorker: { calls, windowMs: 60_000 } } });
  const allow = (...tools: string[]) => ({ allowlist: RoleToolAllowlist.fromEntries([['worker', tools]]) });
  let n = 0;
  /** Has a new call approved, after something has changed. Returns the call and its id, the reply and the approval. */
  const approved = async (change: () => unknown) => {
    const call = { name: count, arguments: { n: n++ } };
    const called = rosa.execute(call, { requestId: `a${n}` });
    const [approval] = await stack.waits();
    await change();
    await stack.decide(approval!.id, { verdict: 'approve' });
    return { call, requestId: `a${n}`, id: approval!.id, called };
  };
  const left = (code: string, id: string) => ({
    error: { code, may_have_run: false, hint: expect.stringContaining(`Approval ${id} was not used`) },
  });
  const used = (code: string, id: string, why: string) => ({
    error: {
      code,
      may_have_run: false,
      hint: expect.stringContaining(`Approval ${id} is used up, because ${why}`),
    },
  });
  const alone = 'it held for this call alone';

  stack.orchestrator.setPolicy(budget(1));
  const spent = await approved(() => rosa.execute({ name: echo }));
  expect(await spent.called).toMatchObject(left('quota_exceeded', spent.id));
  stack.orchestrator.setPolicy(budget(1000));
  // Of two at once only one is the call that was approved.
  const twice = [rosa.execute(spent.call), rosa.execute(spent.call)];
  const [again] = await stack.waits();
  await stack.decide(again!.id, { verdict: 'deny', reason: 'no' });
  const ends = (await Promise.all(twice)).map(({ error }) => error?.code);
  expect(ends.toSorted()).toEqual(['approval_denied', undefined]);
  expect(runs(stack)).toBe(1);

  // Nor does it hold for a person whose token was revoked since.
  const walt = await stack.executor('walt');
  stack.orchestrator.setPolicy(budget(1));
  const { token } = await stack.broker.broker.issueToken({ agent: 'lead', role: 'lead', approves: ['*'] });
  const lead = await stack.connect('lead', token);
  const distrusted = walt.execute({ name: count, arguments: { n: 'lead' } });
  const [seen] = await stack.waits();
  await walt.execute({ name: echo });
  await stack.decide(seen!.id, { verdict: 'approve' }, lead);
  expect(await distrusted).toMatchObject(left('quota_exceeded', seen!.id));
  stack.orchestrator.setPolicy(budget(1000));
  await stack.operator.admin('token_revoke_agent', { agent: 'lead' });
  const asked = walt.execute({ name: count, arguments: { n: 'lead' } });
  const [anew] = await stack.waits();
  await stack.decide(anew!.id, { verdict: 'deny', reason: 'no' });
  expect(await asked).toMatchObject({ error: { code: 'approval_denied' } });

  const forbidden = await approved(() => stack.orchestrator.setPolicy(allow(echo)));
  expect(await forbidden.called).toMatchObject(used('permission_denied', forbidden.id, alone));
  stack.orchestrator.setPolicy(allow('*'));

  const cancelled = await approved(() =>
    stack.operator.admin('hold', { on: 'tool', name: count, reason: 'incident' }),
  );
  await expect
    .poll(() => ask(rosa.client, { op: 'status', request_id: cancelled.requestId }))
    .toMatchObject({ data: { state: 'held' } });
  await stack.ask(stack.operator, { op: 'cancel_call', agent: 'rosa', request_id: cancelled.requestId });
  expect(await cancelled.called).toMatchObject(used('cancelled', cancelled.id, alone));
  await stack.operator.admin('release', { on: 'tool', name: count });

  const redefined = await approved(() => stack.orchestrator.setPolicy({ repeat: { never: [count] } }));
  expect(await redefined.called).toMatchObject({
    error: { code: 'approval_superseded', may_have_run: false },
  });
  expect(runs(stack)).toBe(1);
});

test('a call with an idempotency_key whose approval was not used is made again, and does not get the old error', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.client('rosa');
  const call = () =>
    ask(rosa, { op: 'call', tool: count, arguments: { n: 1 }, options: { idempotency_key: 'k' } });
  const first = call();
  const [approval] = await stack.waits();
  await ask(stack.operator, { op: 'stop', server: 'counter' });
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await first).toMatchObject({ error: { code: 'mcp_server_unreachable' } });
  await ask(stack.operator, { op: 'start', server: 'counter' });
  expect(await call()).toHaveProperty('result.structuredContent', { n: 1 });
  // From now on each one gets the reply to the call that was made.
  expect(await call()).toHaveProperty('result.structuredContent', { n: 1 });
  expect(runs(stack)).toBe(1);
});

test('rules that have calls wait are refused where no journal can keep them', async () => {
  const approvals = { roles: { worker: [count] }, deadlineMs: 1000, notify: [] };
  await expect(startToolStack({ approvals })).rejects.toMatchObject({ code: 'bad_config' });
  await using stack = await startToolStack();
  expect(() => stack.orchestrator.setPolicy({ approvals })).toThrow('roles.worker.ask needs a journal');
});

test('a call that is attached to one that was cancelled while no orchestrator was there is made in its place', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const cancel = new AbortController();
  const first = rosa.execute({ name: count }, { signal: cancel.signal, requestId: 'first' });
  const [approval] = await stack.waits();
  const second = rosa.execute({ name: count }, { requestId: 'second' });
  const stateOf = () => ask(rosa.client, { op: 'status', request_id: 'second' });
  await expect.poll(stateOf).toMatchObject({ data: { state: 'awaiting_approval' } });
  await stack.orchestrator.stop();
  cancel.abort();
  await first;
  await using _next = await stack.restart();
  await expect.poll(stateOf).toMatchObject({ data: { state: 'awaiting_approval' } });
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await second).toHaveProperty('result.success', true);
  expect(runs(stack)).toBe(1);
});

test('calls that wait with long arguments wait on over a restart, although they come again all at once', async () => {
  await using stack = await startAskingStack({}, { sizes: { bytesPerWorker: 8000 } });
  const rosa = await stack.executor('rosa');
  const calls = [];
  for (let n = 1; n <= 3; n++) {
    calls.push(rosa.execute({ name: count, arguments: { n, text: 'x'.repeat(5000) } }));
    await stack.waits(n);
  }
  await stack.orchestrator.stop();
  await using _next = await stack.restart();
  for (const { id } of await stack.waits(3)) await stack.decide(id, { verdict: 'approve' });
  for (const call of calls) expect(await call).toHaveProperty('result.success', true);
  expect(runs(stack)).toBe(3);
});

test('a definition that changes while an approved call waits for its server to start again has it not made', async () => {
  await using directory = await tempDir();
  const gate = join(directory.path, 'gate');
  const { command, args, env } = counterServer(join(directory.path, 'counter.jsonl'));
  const waitAtGate = 'echo $$ > "$0.pid"; [ ! -e "$0" ] || read _ < "$0"; exec "$@"';
  const counter = {
    type: 'stdio' as const,
    command: 'sh',
    args: ['-c', waitAtGate, gate, command, ...args],
    env,
  };
  await using stack = await startAskingStack({}, { counter: false, servers: { counter } });
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count }, { requestId: 'r1' });
  const [approval] = await stack.waits();
  execFileSync('mkfifo', [gate]);
  const pid = await readFile(`${gate}.pid`, 'utf8');
  process.kill(Number(pid), 'SIGKILL');
  // Until the next one waits at the gate, the call could be sent to the server that is gone.
  await expect.poll(() => readFile(`${gate}.pid`, 'utf8')).not.toBe(pid);
  await stack.decide(approval!.id, { verdict: 'approve' });
  await expect
    .poll(() => ask(rosa.client, { op: 'status', request_id: 'r1' }))
    .toEqual({ data: { state: 'running' } });
  stack.orchestrator.setPolicy({ repeat: { never: [count] } });
  await writeFile(gate, '\n');
  expect(await called).toMatchObject({ error: { code: 'approval_superseded', may_have_run: false } });
  expect(existsSync(join(directory.path, 'counter.jsonl'))).toBe(false);
});

test('explain says that a call which a person approves is never made again, even if its tool is listed as safe', async () => {
  await using stack = await startAskingStack();
  stack.orchestrator.setPolicy({ repeat: { safe: [count] } });
  const question = { op: 'explain' as const, role: 'worker', tool: count };
  const answer = await queryOrchestrator(stack.operator, 'orchestrator', question);
  expect(answer).toEqual(explained('approval', { verdict: 'waits', rule: 'roles.worker.ask[0]' }));
  expect(answer).toEqual(explained('journal', { rule: 'a person approves one call' }));
});

test('explain says that a call is refused whose arguments are too long for those who decide', async () => {
  await using stack = await startAskingStack();
  const explain = (text: string, tool = count) =>
    queryOrchestrator(stack.operator, 'orchestrator', {
      ...{ op: 'explain' as const, role: 'worker', tool, arguments: { text } },
    });
  const says = expect.stringContaining('may have 65536 bytes of arguments');
  expect(await explain('x'.repeat(70_000))).toEqual(explained('approval', { verdict: 'refused', says }));
  expect(await explain('x')).toEqual(explained('approval', { verdict: 'waits' }));
  expect(await explain('x'.repeat(70_000), echo)).toEqual(explained('approval', { verdict: 'passes' }));
});
