import { cancelCall, listCalls, readAudit, readCall, readTimeline } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { ask } from '../support/orchestrator/requests.ts';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const slow = 'mcp_counter__slow';
const gate = 'mcp_counter__gate';
const forMinutes = { ms: 100_000 };

const ranOnce = (stack: ToolStack, tool: string) => stack.ran(tool).filter(({ at }) => at === 'start').length;

async function stateOf(stack: ToolStack, requestId: string): Promise<string | undefined> {
  const operator = await stack.client('operator', 'operator');
  const calls = await listCalls(operator, 'orchestrator');
  return calls.find(({ request_id }) => request_id === requestId)?.state;
}

test('an operator cancels a call that runs: its agent hears who and why, and that it may have run', async () => {
  await using stack = await startToolStack();
  const operator = await stack.client('operator', 'operator');
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: slow, arguments: forMinutes }, { requestId: 'r1' });
  await expect.poll(() => ranOnce(stack, 'slow')).toBe(1);
  const key = { agent: 'rosa', requestId: 'r1' };
  expect(await cancelCall(operator, 'orchestrator', key, 'wrong branch')).toEqual({
    cancelled: true,
    state: 'running',
    outcome: 'cancelled',
    may_have_run: true,
  });
  expect(await called).toMatchObject({
    error: {
      code: 'cancelled',
      message: `operator cancelled this call of '${slow}': wrong branch`,
      may_have_run: true,
    },
  });
  // An operator who is too late is told how the call ended.
  expect(await cancelCall(operator, 'orchestrator', key)).toMatchObject({
    cancelled: false,
    state: 'finished',
    outcome: 'cancelled',
  });
  expect(await readCall(operator, 'orchestrator', key)).toMatchObject({
    state: 'finished',
    reply: { error: { code: 'cancelled' } },
  });
  await expect
    .poll(async () => (await readAudit(operator, { since: 0, kinds: ['change'], limit: 100 })).entries)
    .toContainEqual(
      expect.objectContaining({
        code: 'call_cancelled',
        agent: 'operator',
        request_id: 'r1',
        detail: 'of rosa, running: wrong branch',
      }),
    );
});

test('a call that waits for its turn is cancelled without having run, and its place in the line is known before', async () => {
  await using stack = await startToolStack({ serverConcurrency: { counter: 1 } });
  const operator = await stack.client('operator', 'operator');
  const [rosa, walt] = [await stack.executor('rosa'), await stack.executor('walt')];
  const file = `${stack.directory}/open`;
  const abort = new AbortController();
  const first = rosa.execute({ name: gate, arguments: { file } }, { requestId: 'g', signal: abort.signal });
  await expect.poll(() => stateOf(stack, 'g')).toBe('running');
  const second = walt.execute({ name: count }, { requestId: 'w1' });
  const third = walt.execute({ name: count }, { requestId: 'w2' });
  const places = async () =>
    (await listCalls(operator, 'orchestrator', { running: true })).map(({ position }) => position);
  await expect.poll(places).toEqual([undefined, 1, 2]);
  const key = { agent: 'walt', requestId: 'w1' };
  expect(await cancelCall(operator, 'orchestrator', key)).toEqual({
    cancelled: true,
    state: 'queued',
    outcome: 'cancelled',
    may_have_run: false,
  });
  expect(await second).toMatchObject({ error: { code: 'cancelled', may_have_run: false } });
  expect(await places()).toEqual([undefined, 1]);
  abort.abort();
  expect(await third).toHaveProperty('result.structuredContent.n', 1);
  await first;
});

test('calls that are held, or wait for a decision, are cancelled without having run', async () => {
  await using stack = await startAskingStack();
  const { operator } = stack;
  const rosa = await stack.executor('rosa');
  const asked = rosa.execute({ name: count }, { requestId: 'asked' });
  const [approval] = await stack.waits();
  const key = { agent: 'rosa', requestId: 'asked' };
  expect(await cancelCall(operator, 'orchestrator', key, 'not today')).toMatchObject({
    cancelled: true,
    state: 'awaiting_approval',
    may_have_run: false,
  });
  expect(await asked).toMatchObject({
    error: { code: 'cancelled', message: expect.stringContaining('not today'), may_have_run: false },
  });
  expect(await stack.decide(approval!.id, { verdict: 'approve' })).toMatchObject({
    data: { decided: false, approval: { state: 'cancelled' } },
  });
  await operator.admin('hold', { on: 'agent', name: 'rosa', reason: 'a test' });
  const held = rosa.execute({ name: 'mcp_counter__echo' }, { requestId: 'held' });
  await expect.poll(() => stateOf(stack, 'held')).toBe('held');
  expect(await cancelCall(operator, 'orchestrator', { agent: 'rosa', requestId: 'held' })).toMatchObject({
    cancelled: true,
    state: 'held',
    may_have_run: false,
  });
  expect(await held).toMatchObject({ error: { code: 'cancelled' } });
  const { groups } = await readTimeline(operator, 'orchestrator', { since: 0, agent: 'rosa', limit: 100 });
  const told = groups.map(({ entries }) =>
    entries.map((one) => (one.what === 'message' ? one.kind : one.what)),
  );
  expect(told).toEqual([
    ['mcp_request', 'call', 'approval', 'mcp_reply'],
    ['mcp_request', 'call', 'mcp_reply'],
  ]);
  const entries = groups.flatMap((group) => group.entries);
  expect(entries.find(({ what }) => what === 'approval')).toMatchObject({
    state: 'cancelled',
    agent: 'rosa',
  });
  expect(entries.find((one) => one.what === 'call' && one.request_id === 'held')).toMatchObject({
    was_held: { hold: expect.stringContaining('a test'), ms: expect.any(Number) },
    request_bytes: expect.any(Number),
    reply_bytes: expect.any(Number),
  });
  expect(ranOnce(stack, 'count')).toBe(0);
});

test('nobody but an operator cancels a call or reads the reply of another agent; an unknown call is named', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  await rosa.execute({ name: 'mcp_counter__echo', arguments: { text: 'secret' } }, { requestId: 'done' });
  const strangers = [
    await stack.client('operator.olga', 'observer'),
    await stack.approver('bridge', ['worker']),
    await stack.client('walt'),
  ];
  for (const client of strangers) {
    for (const body of [
      { op: 'cancel_call', agent: 'rosa', request_id: 'done' },
      { op: 'status', as_agent: 'rosa', request_id: 'done' },
    ])
      expect(await ask(client, body), client.agent).toMatchObject({ error: { code: 'permission_denied' } });
  }
  const key = { agent: 'walt', requestId: 'done' };
  await expect(cancelCall(stack.operator, 'orchestrator', key)).rejects.toMatchObject({
    code: 'not_found',
    message: "the orchestrator knows no call of 'walt' with the id done",
  });
  expect(await readCall(stack.operator, 'orchestrator', { ...key, agent: 'rosa' })).toMatchObject({
    outcome: 'ok',
    reply: { result: { content: [{}] } },
  });
});
