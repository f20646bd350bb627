import { type Approval, decideReplySchema, type McpReply } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

const decisionOf = (reply: McpReply) => decideReplySchema.parse('data' in reply ? reply.data : reply);

test('a call under ask runs once, when it is approved, and its caller hears meanwhile that it waits', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const heard: unknown[] = [];
  const called = rosa.execute(
    { name: count, arguments: { path: '/srv/prod', api_key: 'k-123456' } },
    { onProgress: (progress) => heard.push(progress), requestId: 'r1' },
  );
  const [approval] = await stack.waits();
  expect(approval).toMatchObject({
    state: 'pending',
    request_id: 'r1',
    agent: 'rosa',
    role: 'worker',
    server: 'counter',
    tool: count,
    arguments: '{"path":"/srv/prod","api_key":"[redacted]"}',
    rule: 'roles.worker.ask[0]',
  });
  expect(stack.ran('count')).toEqual([]);
  expect(heard).toEqual([
    expect.objectContaining({ message: `waiting for approval ${approval!.id} by a person` }),
  ]);
  const reply = decisionOf(await stack.decide(approval!.id, { verdict: 'approve' }));
  expect(reply).toMatchObject({ decided: true, approval: { state: 'approved', by: { agent: 'operator' } } });
  expect(await called).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(stack.ran('count')).toHaveLength(1);
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

test('a call that waits holds no place of the scheduler, and calls of other tools do not wait', async () => {
  await using stack = await startAskingStack({}, { concurrency: { global: 1, perWorker: 1 } });
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count });
  const [approval] = await stack.waits();
  expect(await rosa.execute({ name: echo, arguments: { a: 1 } })).toHaveProperty('result.success', true);
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await called).toHaveProperty('result.success', true);
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
  expect(stack.ran('count')).toHaveLength(state === 'denied' ? 0 : 1);
});
