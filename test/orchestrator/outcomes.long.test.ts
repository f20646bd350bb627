import { sendOrchestratorRequest } from '@signalbox/client/operator/internal';
import { timeSortedId } from '@signalbox/protocol';
import { connectWire } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { startJournaledStack } from '../support/orchestrator/journaled-stack.ts';
import { statusOf, waiting } from '../support/orchestrator/outcomes.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const crash = 'mcp_counter__crash';
const echo = 'mcp_counter__echo';
const slow = 'mcp_counter__slow';

test('a reply that its requester has no room for stays to be asked for, and others are served meanwhile', async () => {
  await using stack = await startJournaledStack({ broker: { limits: { inbox: { messages: 3 } } } });
  const token = await stack.broker.token('rosa');
  await using full = await connectWire(stack.broker.url, { agent: 'rosa', token });
  const id = () => timeSortedId(Date.now(), Math.random().toString(36).slice(2, 10));
  for (let i = 0; i < 3; i++) {
    full.send({ type: 'deliver', to: 'rosa', id: id(), kind: 'note' }, '{}');
    await full.next('delivered');
  }
  const body = JSON.stringify({ op: 'call', tool: count });
  full.send({ type: 'deliver', to: 'orchestrator', id: 'full', kind: 'mcp_request' }, body);
  await full.next('delivered', { id: 'full' });
  const walt = await stack.executor('walt');
  expect(await walt.execute({ name: echo })).toHaveProperty('result.success', true);
  await expect.poll(() => waiting(stack)).toBe(0);
  expect(await statusOf(stack, 'rosa', 'full')).toMatchObject({
    state: 'finished',
    reply: { result: { structuredContent: { n: 1 } } },
  });
  expect(await stack.journal.find({ agent: 'rosa', requestId: 'full' })).toHaveProperty('end.reply');
});

test("the operator's lists decide what is safe to repeat, over the servers' own claims, everywhere", async () => {
  await using stack = await startJournaledStack({ repeat: { safe: ['mcp_*__crash', slow], never: [echo] } });
  const rosa = await stack.executor('rosa');
  expect((await rosa.execute({ name: crash }, { requestId: 'c' })).error).toMatchObject({
    code: 'mcp_server_unreachable',
    retryable: true,
    may_have_run: true,
  });
  const late = await rosa.execute({ name: slow, arguments: { ms: 60_000 } }, { timeoutMs: 600 });
  expect(late.error).toMatchObject({ code: 'tool_timeout', retryable: true, may_have_run: true });
  await rosa.execute({ name: echo }, { requestId: 'e' });
  await rosa.execute({ name: count }, { requestId: 'n' });
  const journaled = (await stack.journal.list({ limit: 10 })).map(({ requestId }) => requestId);
  expect(journaled).toEqual(['n', 'e']);
  const words = rosa.listTools().map(({ name, _meta }) => [name, _meta?.['signalbox/repeat']]);
  expect(Object.fromEntries(words)).toMatchObject({ [crash]: 'safe', [echo]: 'never', [count]: undefined });
});

test('a cancel and a deadline reach the server long before its tool would end', async () => {
  await using stack = await startJournaledStack();
  const rosa = await stack.executor('rosa');
  const abort = new AbortController();
  const cancelledLines = () => stack.ran('slow').filter(({ at }) => at === 'cancelled').length;
  const cancelled = rosa.execute(
    { name: slow, arguments: { ms: 60_000 } },
    { signal: abort.signal, requestId: 'cancelled' },
  );
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  abort.abort();
  await vi.waitFor(() => expect(cancelledLines()).toBe(1), { interval: 20 });
  expect(await cancelled).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  const late = await rosa.execute(
    { name: slow, arguments: { ms: 60_000 } },
    { timeoutMs: 700, requestId: 'late' },
  );
  expect(late).toMatchObject({ error: { code: 'outcome_unknown', may_have_run: true, retryable: false } });
  await vi.waitFor(() => expect(cancelledLines()).toBe(2), { interval: 20 });
  // Either the deadline or its caller, which has the same deadline, ended the call first.
  for (const requestId of ['cancelled', 'late']) {
    expect(await statusOf(stack, 'rosa', requestId)).toMatchObject({
      state: 'finished',
      reply: { error: { may_have_run: true, retryable: false } },
    });
  }
});

test('a call that finds the store full says storage_full to the agent and to the operator, and has not run', async () => {
  await using stack = await startToolStack({ broker: { limits: { store: { bytes: 457_000 } } } });
  const rosa = await stack.executor('rosa');
  const operator = await stack.client('operator', 'operator');
  const large = { text: 'x'.repeat(100_000) };
  for (let i = 0; i < 8; i++) {
    await rosa.client.deliver({ to: 'operator', kind: 'note', body: large }).catch(() => {});
  }
  const full = { code: 'storage_full', category: 'transient', retryable: true, may_have_run: false };
  expect((await rosa.execute({ name: echo, arguments: large })).error).toMatchObject(full);
  const request = { op: 'call', tool: echo, arguments: large } as const;
  const { code, retryable, details } = await sendOrchestratorRequest(operator, 'orchestrator', request, {
    timeoutMs: 5000,
  }).then(
    () => expect.fail('the call got through'),
    (error) => error,
  );
  expect({ code, retryable, ...details }).toMatchObject(full);
  expect(stack.ran('echo')).toEqual([]);
});
