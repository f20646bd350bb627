import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { echo, heard, operatorOf, reaches, runs } from '../support/orchestrator/holds.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const slow = 'mcp_counter__slow';
const reason = 'it deletes files';

test('a held call ends as held before its deadline, without having run', async () => {
  await using stack = await startToolStack();
  const operator = await operatorOf(stack);
  const rosa = await stack.client('rosa');
  await operator.admin('hold', { on: 'all', reason });
  await heard(stack, 'worker', true);
  const outcome = await rosa.request(
    'orchestrator',
    'mcp_request',
    { op: 'call', tool: count },
    { timeoutMs: 1500 },
  );
  expect(outcome).toMatchObject({
    status: 'completed',
    reply: {
      json: {
        error: {
          code: 'held',
          retryable: true,
          may_have_run: false,
          message: expect.stringContaining(`operator holds everything since`),
        },
      },
    },
  });
  expect(runs(stack)).toBe(0);
});

test('calls that run finish under a hold, unless it cancels them', async () => {
  await using stack = await startToolStack();
  const operator = await operatorOf(stack);
  const rosa = await stack.executor('rosa');
  const first = rosa.execute({ name: slow, arguments: { ms: 300 } });
  await expect.poll(() => runs(stack, 'slow')).toBe(1);
  const { hold } = await operator.admin('hold', { on: 'agent', name: 'rosa', reason });
  expect(await first).toHaveProperty('result.success', true);
  await operator.admin('release', { ids: [hold.id] });
  const second = rosa.execute({ name: slow, arguments: { ms: 60_000 } });
  await expect.poll(() => runs(stack, 'slow')).toBe(2);
  await operator.admin('hold', { on: 'agent', name: 'rosa', reason, cancel_running: true });
  expect(await second).toMatchObject({
    error: {
      code: 'cancelled',
      may_have_run: true,
      message: expect.stringContaining('a hold cancelled the call'),
    },
  });
});

test('a held agent that floods is refused beyond its bound, and another held agent still has room', async () => {
  await using stack = await startToolStack({
    heldCallLimits: {
      callsPerAgent: 3,
      callsPerMinter: 6,
      calls: 6,
      bytesPerAgent: 10_000,
      bytesPerMinter: 20_000,
      bytes: 20_000,
    },
  });
  const operator = await operatorOf(stack);
  await stack.broker.token('rosa');
  const { hold } = await operator.admin('hold', { on: 'all', reason });
  await heard(stack, 'worker', true);
  const rosa = await stack.executor('rosa');
  const flood = Array.from({ length: 10 }, () => rosa.execute({ name: count }));
  const refused = await Promise.all(flood.slice(3));
  expect(new Set(refused.map(({ error }) => error?.code))).toEqual(new Set(['quota_exceeded']));
  expect(refused[0]?.error).toMatchObject({ may_have_run: false, message: expect.stringContaining(reason) });
  const walt = await stack.executor('walt');
  const large = await walt.execute({ name: echo, arguments: { text: 'x'.repeat(12_000) } });
  expect(large.error).toMatchObject({ code: 'quota_exceeded', may_have_run: false });
  const his = walt.execute({ name: echo });
  await operator.admin('release', { ids: [hold.id] });
  expect(await his).toHaveProperty('result.success', true);
  await Promise.all(flood);
  expect(runs(stack)).toBe(3);
});

test('the held calls of the agents of one minting token leave room to others', async () => {
  await using stack = await startAskingStack(
    { roles: {} },
    {
      heldCallLimits: {
        ...{ callsPerAgent: 3, callsPerMinter: 3, calls: 8 },
        ...{ bytesPerAgent: 10_000, bytesPerMinter: 10_000, bytes: 20_000 },
      },
    },
  );
  const { hold } = await stack.operator.admin('hold', {
    on: 'role',
    name: 'worker',
    reason,
    unchecked: true,
  });
  const [one, two] = await Promise.all(
    (await stack.minted('ci-1', 'ci-2')).map((token, i) =>
      stack.executor(`ci-${i + 1}`, 'worker', { token }),
    ),
  );
  const callers = [one!, one!, two!];
  const held = callers.map((caller, n) => caller.execute({ name: count, arguments: { n } }));
  await expect.poll(() => stack.orchestrator.status().figures.held).toEqual([[[], 3]]);
  expect((await two!.execute({ name: count })).error).toMatchObject({
    ...{ code: 'quota_exceeded', message: expect.stringContaining('its minting token'), may_have_run: false },
  });
  const rosa = await stack.executor('rosa');
  held.push(rosa.execute({ name: count }));
  await expect.poll(() => stack.orchestrator.status().figures.held).toEqual([[[], 4]]);
  await stack.operator.admin('release', { ids: [hold.id] });
  await Promise.all(held);
  expect(runs(stack)).toBe(4);
});

test('an orchestrator that begins under a hold starts nothing, and what waited runs once after the release', async () => {
  await using stack = await startAskingStack({ roles: {} });
  const { hold } = await stack.operator.admin('hold', { on: 'all', reason });
  await heard(stack, 'worker', true);
  const rosa = await stack.executor('rosa');
  const called = rosa.execute({ name: count }, { requestId: 'r1' });
  await reaches(stack, 'rosa', 'r1', 'held');
  await using _next = await stack.restart();
  await reaches(stack, 'rosa', 'r1', 'held');
  expect(runs(stack)).toBe(0);
  await stack.operator.admin('release', { ids: [hold.id] });
  expect(await called).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(runs(stack)).toBe(1);
});

test('a call that waits for its turn when the hold comes leaves the queue, and starts after the release', async () => {
  await using stack = await startToolStack({ concurrency: { global: 1, perWorker: 1 } });
  const operator = await operatorOf(stack);
  const walt = await stack.executor('walt', 'reader');
  const rosa = await stack.executor('rosa');
  const running = walt.execute({ name: slow, arguments: { ms: 700 } });
  await expect.poll(() => runs(stack, 'slow')).toBe(1);
  const queued = rosa.execute({ name: count }, { requestId: 'r1' });
  await reaches(stack, 'rosa', 'r1', 'queued');
  const { hold } = await operator.admin('hold', { on: 'agent', name: 'rosa', reason });
  expect(await running).toHaveProperty('result.success', true);
  await reaches(stack, 'rosa', 'r1', 'held');
  expect(await walt.execute({ name: echo })).toHaveProperty('result.success', true);
  expect(runs(stack)).toBe(0);
  await operator.admin('release', { ids: [hold.id] });
  expect(await queued).toHaveProperty('result.success', true);
});
