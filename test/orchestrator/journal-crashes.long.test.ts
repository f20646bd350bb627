import { decideApproval, listApprovals, queryOrchestrator } from '@signalbox/client/operator';
import type { CallResult } from '@signalbox/worker';
import { expect, test } from 'vitest';
import {
  expectTruth,
  startCrashingStack,
  unknown,
  unsafeOutcomes,
} from '../support/orchestrator/journal-crashes.ts';

const echo = 'mcp_counter__echo';
/** The orchestrator has calls of it wait for a decision. */
const slow = 'mcp_counter__slow';
const result = { result: { success: true } };

test('wherever the orchestrator dies, a call that is not safe to repeat runs once at most, and its caller learns the truth', () =>
  expectTruth(Object.keys(unsafeOutcomes) as (keyof typeof unsafeOutcomes)[]));

test('a large result that is kept when the orchestrator dies is answered by the next one, and its call is not made again', async () => {
  await using stack = await startCrashingStack();
  const call = { name: 'mcp_counter__big', arguments: { bytes: 5e6, label: 'large' } };
  const make = () => stack.rosa.execute(call, { requestId: 'large' });
  const ended = (await stack.crashAt('orchestrator.reply.before', make)) as CallResult;
  expect(ended).toMatchObject({ result: { success: true } });
  expect(stack.starts('large')).toBe(1);
  const { uri, bytes } = ended.result!._meta!['signalbox/kept_result'] as { uri: string; bytes: number };
  expect(bytes).toBeGreaterThanOrEqual(5e6);
  const read = async (at: string) =>
    (await stack.rosa.ask({ op: 'request', method: 'resources/read', params: { uri: at } })).result;
  expect(await read(`${uri}?offset=4999999&bytes=1`)).toMatchObject({ contents: [{ text: 'x' }, {}] });
  // Another process: what it kept is bounded and private as before.
  expect(await read(uri)).toMatchObject({ _meta: { 'signalbox/range': { offset: 0, end: 8192 } } });
});

test('a call that is safe to repeat runs again after a crash, and needs no entry in the journal', async () => {
  await using stack = await startCrashingStack();
  const call = { name: echo, arguments: { label: 'safe' } };
  const ended = await stack.crashAt('orchestrator.call.returned', () =>
    stack.rosa.execute(call, { requestId: 'safe' }),
  );
  expect(ended).toHaveProperty('result.structuredContent', { label: 'safe' });
  expect(stack.starts('safe')).toBe(2);
});

test('an approval whose call was not sent allows one sent call at most, also if the orchestrator dies when it is used again', async () => {
  await using stack = await startCrashingStack();
  await using operator = await stack.operator();
  const server = (op: 'stop' | 'start') =>
    queryOrchestrator(operator, 'orchestrator', { op, server: 'counter' });
  const waiting = async () => (await listApprovals(operator, 'orchestrator', { limit: 10 })).approvals;
  for (const [point, outcome, runs] of [
    ['orchestrator.journal.started', unknown, 0],
    ['orchestrator.approval.starting', result, 1],
  ] as const) {
    const call = { name: slow, arguments: { ms: 1, label: point } };
    const first = stack.rosa.execute(call);
    await expect.poll(waiting).toHaveLength(1);
    await server('stop');
    await decideApproval(operator, 'orchestrator', (await waiting())[0]!.id, { verdict: 'approve' });
    expect(await first).toMatchObject({ error: { code: 'mcp_server_unreachable' } });
    await server('start');
    expect(await stack.crashAt(point, () => stack.rosa.execute(call)), point).toMatchObject(outcome);
    const ended = stack.rosa.execute(call);
    await expect.poll(() => waiting().catch(() => [])).toHaveLength(1);
    expect(stack.starts(point)).toBe(runs);
    await decideApproval(operator, 'orchestrator', (await waiting())[0]!.id, {
      verdict: 'deny',
      reason: 'no',
    });
    expect(await ended).toMatchObject({ error: { code: 'approval_denied' } });
  }
});

test('wherever the orchestrator dies, a call that waits for a decision runs once at most, and only with one', async () => {
  await using stack = await startCrashingStack();
  const proposed = { name: slow, arguments: { ms: 1, label: 'proposed' } };
  // A question that the dying orchestrator takes with it is not answered by the next one.
  const call = () => stack.rosa.execute(proposed);
  const denied = await stack.crashAt('orchestrator.approval.proposed', call, stack.deny);
  expect(denied).toMatchObject({ error: { code: 'approval_denied', may_have_run: false } });
  expect(stack.starts('proposed')).toBe(0);
  await using _operator = await stack.approve();
  // The kill campaign strikes at all points; these are the ones at which the outcome changes.
  for (const [point, outcome, runs] of [
    ['orchestrator.approval.decided', result, [1]],
    ['orchestrator.approval.starting', result, [1]],
    ['orchestrator.journal.started', unknown, [0]],
    ['orchestrator.call.returned', unknown, [1]],
  ] as const) {
    const label = point.replaceAll('.', '_');
    const call = { name: slow, arguments: { ms: 1, label } };
    expect(await stack.crashAt(point, () => stack.rosa.execute(call)), point).toMatchObject(outcome);
    expect(runs, point).toContain(stack.starts(label));
  }
});
