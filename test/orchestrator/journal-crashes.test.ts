import { connectBroker } from '@signalbox/client';
import { decideApproval, listApprovals, queryOrchestrator } from '@signalbox/client/operator';
import { readCounter, startChild, startTestBroker, tempDir } from '@signalbox/testing';
import { type CallResult, McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startApprover } from '../faults/approver.ts';
import type { OrchestratorSettings } from '../faults/process-messages.ts';
import { runsAll } from '../support/runs-all.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
/** The orchestrator has calls of it wait for a decision. */
const slow = 'mcp_counter__slow';
const main = new URL('../faults/orchestrator-main.ts', import.meta.url);

/** A broker, a worker, and an orchestrator in a process that dies at named points. */
async function startCrashingStack() {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const broker = starting.use(await startTestBroker({ durability: 'process' }));
  const counterFile = `${directory.path}/counter.jsonl`;
  const settings: OrchestratorSettings = {
    url: broker.url,
    token: await broker.token('orchestrator', 'orchestrator'),
    counterFile,
    journalFile: `${directory.path}/journal.db`,
    resultsDirectory: `${directory.path}/results`,
    // The next orchestrator first waits for its server, however long that takes on a busy machine.
    decisionMs: 60_000,
  };
  const start = () => startChild(main, { args: [JSON.stringify(settings)] });
  let orchestrator = await start();
  starting.defer(() => orchestrator[Symbol.asyncDispose]());
  const token = await broker.token('rosa');
  const rosa = starting.use(await McpProxyExecutor.connect({ url: broker.url, token, agent: 'rosa' }));
  const started = starting.move();
  return {
    broker,
    rosa,
    async operator() {
      const token = await broker.operatorToken();
      return await connectBroker({ url: broker.url, token, agent: 'operator#decides' });
    },
    /** Denies the first call that waits, when there is one. */
    async deny() {
      await using client = await this.operator();
      const waiting = () => listApprovals(client, 'orchestrator', { limit: 1 }).catch(() => undefined);
      await expect.poll(async () => (await waiting())?.approvals.length).toBe(1);
      const [approval] = (await waiting())!.approvals;
      await decideApproval(client, 'orchestrator', approval!.id, { verdict: 'deny', reason: 'no' });
    },
    /** Approves every call that waits, until it is disposed. */
    approve: async () => await startApprover(broker.url, await broker.operatorToken()),
    starts: (label: string) =>
      readCounter(counterFile).filter(({ at, args }) => at === 'start' && args.label === label).length,
    /** The orchestrator dies at the next passing of `point`; another one takes its place, and `afterwards` begins. */
    async crashAt(point: string, meanwhile: () => Promise<unknown>, afterwards = async () => {}) {
      await orchestrator.arm(point);
      const outcome = meanwhile();
      expect(await orchestrator.exited).toMatchObject({ signal: 'SIGKILL' });
      orchestrator = await start();
      await afterwards();
      return await outcome;
    },
    async status(requestId: string) {
      await using client = await connectBroker({ url: broker.url, token, agent: 'rosa#asks' });
      const body = { op: 'status', request_id: requestId };
      const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs: 60_000 });
      return outcome.status === 'completed' ? (outcome.reply.json as { data: unknown }).data : outcome;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const unknown = {
  error: { code: 'outcome_unknown', may_have_run: true, retryable: false, category: 'permanent' },
};
const result = { result: { success: true } };

test('wherever the orchestrator dies, a call that is not safe to repeat runs once at most, and its caller learns the truth', async () => {
  await using stack = await startCrashingStack();
  for (const [point, outcome, runs] of [
    ['orchestrator.call.received', result, [1]],
    ['orchestrator.journal.started', unknown, [0]],
    ['orchestrator.call.sent', unknown, [0, 1]],
    ['orchestrator.call.returned', unknown, [1]],
    ['orchestrator.journal.finished', result, [1]],
    ['orchestrator.reply.before', result, [1]],
    ['orchestrator.reply.after', result, [1]],
  ] as const) {
    const label = point.replaceAll('.', '_');
    const call = { name: count, arguments: { label } };
    const ended = await stack.crashAt(point, () => stack.rosa.execute(call, { requestId: label }));
    expect(ended, point).toMatchObject(outcome);
    if (outcome === unknown) expect(JSON.stringify(ended), point).toContain(`request ${label}`);
    expect(runs, point).toContain(stack.starts(label));
    expect(await stack.status(label), point).toMatchObject({
      state: 'finished',
      outcome: outcome === unknown ? 'outcome_unknown' : 'ok',
    });
  }
});

if (runsAll)
  test('a call that is safe to repeat runs again after a crash, and needs no entry in the journal', async () => {
    await using stack = await startCrashingStack();
    const call = { name: echo, arguments: { label: 'safe' } };
    const ended = await stack.crashAt('orchestrator.call.returned', () =>
      stack.rosa.execute(call, { requestId: 'safe' }),
    );
    expect(ended).toHaveProperty('result.structuredContent', { label: 'safe' });
    expect(stack.starts('safe')).toBe(2);
  });

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

test('an approval whose call was not sent allows one sent call at most, also if the orchestrator dies when it is used again', async () => {
  await using stack = await startCrashingStack();
  await using operator = await stack.operator();
  const server = (op: 'stop' | 'start') =>
    queryOrchestrator(operator, 'orchestrator', { op, server: 'counter' });
  const waiting = async () => (await listApprovals(operator, 'orchestrator', { limit: 10 })).approvals;
  for (const [point, outcome, runs] of [
    ['orchestrator.journal.started', unknown, 0],
    ...(runsAll ? ([['orchestrator.approval.starting', result, 1]] as const) : []),
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

if (runsAll)
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
