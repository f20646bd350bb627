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

test('a client that gives up waiting for a decision cancels nothing, and one that cancels the call does', async () => {
  await using stack = await startAskingStack();
  await using connection = await connectFace(await stack.executor('rosa'));
  const callUntil = async (n: number, reason: unknown) => {
    const abort = new AbortController();
    const { promise: heard, resolve } = Promise.withResolvers<void>();
    const options = { signal: abort.signal, onprogress: () => resolve() };
    const ended = expect(connection.call(count, { n }, options)).rejects.toThrow();
    await heard;
    abort.abort(reason);
    await ended;
  };
  // So the clients of the SDK say that they gave up.
  await callUntil(1, new Error('Request timed out'));
  await callUntil(2, 'not needed');
  const [approval] = await stack.waits(1);
  expect(approval?.arguments).toBe('{"n":1}');
  await stack.decide(approval!.id, { verdict: 'approve' });
  await expect.poll(() => stack.ran('count').length).toBe(2);
});

test('without signalbox_call_result the same call goes on waiting for the decision', async () => {
  await using stack = await startAskingStack();
  const executor = await stack.executor('rosa');
  await using connection = await connectFace(executor, { pendingAfterMs: 50, mailbox: false });
  const pending = await connection.call(count, {});
  expect(JSON.stringify(pending.content)).toContain('the same call with the same arguments');
  await using patient = await connectFace(executor, { mailbox: false });
  const again = patient.call(count, {});
  const [approval] = await stack.waits();
  await stack.decide(approval!.id, { verdict: 'deny', reason: 'no' });
  expect(await again).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'approval_denied' } },
  });
});
