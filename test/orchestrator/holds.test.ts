import { connectBroker } from '@signalbox/client';
import { explanationSchema, type Hold } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { explained } from '../support/orchestrator/explained-step.ts';
import { echo, heard, operatorOf, reaches, runs, stateOf } from '../support/orchestrator/holds.ts';
import { ask, askData } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const reason = 'it deletes files';

test('a call on which a hold is waits for the release and runs once; calls of others go on', async () => {
  await using stack = await startToolStack();
  const operator = await operatorOf(stack);
  const rosa = await stack.executor('rosa');
  const walt = await stack.executor('walt', 'reader');
  const { hold } = await operator.admin('hold', { on: 'role', name: 'worker', reason });
  await heard(stack, 'worker', true);
  const progress: unknown[] = [];
  const called = rosa.execute({ name: count }, { requestId: 'r1', onProgress: (one) => progress.push(one) });
  await reaches(stack, 'rosa', 'r1', 'held');
  expect(await stateOf(await stack.client('rosa'), 'r1')).toEqual({
    state: 'held',
    hold: expect.stringContaining(`operator holds role 'worker' since`),
  });
  expect(progress).toEqual([expect.objectContaining({ message: expect.stringContaining(reason) })]);
  expect(await walt.execute({ name: echo })).toHaveProperty('result.success', true);
  expect(runs(stack)).toBe(0);
  await operator.admin('release', { ids: [hold.id] });
  expect(await called).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(runs(stack)).toBe(1);
});

test('a hold on tools has only calls of these wait, also those of agents that are not held', async () => {
  await using stack = await startToolStack();
  const operator = await operatorOf(stack);
  const rosa = await stack.executor('rosa');
  await operator.admin('hold', { on: 'tool', name: 'counter:cou*', reason });
  const explain = (tool: string) =>
    askData(operator, { op: 'explain', role: 'worker', tool }, explanationSchema);
  const says = expect.stringContaining("holds tools 'counter:cou*'");
  await expect.poll(() => explain(count)).toEqual(explained('hold', { verdict: 'waits', says }));
  expect(await explain(echo)).toEqual(explained('hold', { verdict: 'passes' }));
  const called = rosa.execute({ name: count });
  expect(await rosa.execute({ name: echo })).toHaveProperty('result.success', true);
  // People who can end a hold are not held.
  expect(await ask(operator, { op: 'call', tool: count })).toHaveProperty('result.content');
  expect(runs(stack)).toBe(1);
  await operator.admin('release', { on: 'tool', name: 'counter:cou*' });
  expect(await called).toMatchObject({ result: { structuredContent: { n: 2 } } });
});

test('a hold outlives a restart of the broker, and what waited runs once after the release', async () => {
  await using stack = await startToolStack();
  const operator = await operatorOf(stack);
  const { hold } = await operator.admin('hold', { on: 'all', reason });
  await heard(stack, 'worker', true);
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count }, { requestId: 'r1' });
  await reaches(stack, 'rosa', 'r1', 'held');
  await stack.broker.restart();
  await reaches(stack, 'rosa', 'r1', 'held');
  expect(runs(stack)).toBe(0);
  const again = await connectBroker({
    url: stack.broker.url,
    token: await stack.broker.operatorToken(),
    agent: 'operator#again',
  });
  await using _ = again;
  expect((await again.admin('holds', {})).holds).toEqual([hold satisfies Hold]);
  await again.admin('release', { ids: [hold.id] });
  expect(await called).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(runs(stack)).toBe(1);
});

test('a call that was approved under a hold waits for the release, and runs once', async () => {
  await using stack = await startAskingStack();
  const { operator } = stack;
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count }, { requestId: 'r1' });
  const [approval] = await stack.waits();
  const { hold } = await operator.admin('hold', { on: 'role', name: 'worker', reason });
  await heard(stack, 'worker', true);
  await stack.decide(approval!.id, { verdict: 'approve' });
  await reaches(stack, 'rosa', 'r1', 'held');
  expect(runs(stack)).toBe(0);
  await operator.admin('release', { ids: [hold.id] });
  expect(await called).toHaveProperty('result.success', true);
  expect(runs(stack)).toBe(1);
});
