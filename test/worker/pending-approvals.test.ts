import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';

const count = 'mcp_counter__count';
const lookUp = 'signalbox_call_result';

test('a call that nobody decides on soon has a pending result, which signalbox_call_result resolves', async () => {
  await using stack = await startAskingStack();
  await using connection = await connectFace(await stack.executor('rosa'), { pendingAfterMs: 50 });
  const [listed] = (await connection.list()).filter(({ name }) => name === count);
  expect(listed?._meta).toEqual({ 'signalbox/ask_deadline_ms': 60_000 });
  const pending = await connection.call(count, {});
  expect(pending.isError).toBeFalsy();
  expect(pending.structuredContent).toMatchObject({ status: 'pending' });
  const { call_id } = pending.structuredContent as { call_id: string };
  const [approval] = await stack.waits();
  expect(JSON.stringify(pending.content)).toContain(`${lookUp} with call_id ${call_id}`);
  const result = connection.call(lookUp, { call_id });
  await stack.decide(approval!.id, { verdict: 'approve' });
  expect(await result).toMatchObject({ structuredContent: { n: 1 } });
  // The next process of the agent finds it, too.
  await using next = await connectFace(await stack.executor('rosa'));
  expect(await next.call(lookUp, { call_id })).toMatchObject({ structuredContent: { n: 1 } });
  expect(stack.ran('count').filter(({ at }) => at === 'start')).toHaveLength(1);
});

test('However a caller stops waiting for a decision, nothing runs when it is given, and the next same call runs once without another one.', async () => {
  await using stack = await startAskingStack();
  await using connection = await connectFace(await stack.executor('rosa'));
  // As claude names its calls, each one otherwise.
  const named = (id: string) => ({ params: { _meta: { 'claudecode/toolUseId': id } } });
  const callUntil = async (n: number, reason: unknown) => {
    const abort = new AbortController();
    const { promise: heard, resolve } = Promise.withResolvers<void>();
    const options = { ...named('toolu_1'), signal: abort.signal, onprogress: () => resolve() };
    const ended = expect(connection.call(count, { n }, options)).rejects.toThrow();
    await heard;
    // Progress can come before the call waits for a person.
    await stack.waits(1);
    abort.abort(reason);
    await ended;
  };
  const starts = () => stack.ran('count').filter(({ at }) => at === 'start').length;
  // The words of the SDK's clients when they give up, those of codex, and none.
  const reasons = [new Error('Request timed out'), 'MCP request cancelled by caller', undefined];
  for (const [n, reason] of reasons.entries()) {
    await callUntil(n, reason);
    await expect.poll(async () => (await stack.pending())[0]?.left_at).toBeTypeOf('number');
    const [left] = await stack.waits(1);
    expect(await stack.decide(left!.id, { verdict: 'approve' })).toMatchObject({
      data: { decided: true, approval: { state: 'approved', kept_until: expect.any(Number) } },
    });
    expect(starts()).toBe(n);
    const result = await connection.call(count, { n }, named('toolu_2'));
    expect(result).toMatchObject({ structuredContent: { n: n + 1 } });
    const again = connection.call(count, { n });
    const [asked] = await stack.waits(1);
    await stack.decide(asked!.id, { verdict: 'deny', reason: 'once' });
    expect(await again).toMatchObject({ isError: true });
  }
});

test('The same call, made again while the decision is out, waits in place of the one whose caller stopped waiting.', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const cancel = new AbortController();
  const first = rosa.execute({ name: count }, { signal: cancel.signal, requestId: 'first' });
  const [left] = await stack.waits();
  cancel.abort();
  expect(await first).toMatchObject({ error: { code: 'cancelled' } });
  const second = rosa.execute({ name: count }, { requestId: 'second' });
  await expect.poll(async () => (await stack.pending())[0]?.request_id).toBe('second');
  const [waiting] = await stack.waits(1);
  expect(await stack.decide(left!.id, { verdict: 'approve' })).toMatchObject({
    data: { decided: false, approval: { state: 'cancelled' } },
  });
  await stack.decide(waiting!.id, { verdict: 'approve' });
  expect(await second).toHaveProperty('result.success', true);
});

test.each(['before', 'after'])(
  'A caller whose client is gone has left its call, and nothing runs when the decision is given: gone %s the call began to wait.',
  async (when) => {
    await using stack = await startAskingStack();
    await using gone = await connectFace(await stack.executor('rosa'));
    const ended = expect(gone.call(count, { n: 0 })).rejects.toThrow();
    if (when === 'after') await stack.waits(1);
    else await nextTurn();
    await gone.client.close();
    await ended;
    await expect.poll(async () => (await stack.pending())[0]?.left_at).toBeTypeOf('number');
    const [asked] = await stack.pending();
    await stack.decide(asked!.id, { verdict: 'approve' });
    expect(stack.ran('count')).toEqual([]);
  },
);
