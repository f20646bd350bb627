import { connectBroker } from '@signalbox/client';
import { decideApproval, listApprovals } from '@signalbox/client/operator';
import { readCounter, startChild, startTestBroker, tempDir } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect } from 'vitest';
import { startApprover } from '../../faults/approver.ts';
import type { OrchestratorSettings } from '../../faults/process-messages.ts';

const main = new URL('../../faults/orchestrator-main.ts', import.meta.url);

/** A broker, a worker, and an orchestrator in a process that dies at named points. */
export async function startCrashingStack() {
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
  const operator = async () =>
    await connectBroker({ url: broker.url, token: await broker.operatorToken(), agent: 'operator#decides' });
  const started = starting.move();
  return {
    broker,
    rosa,
    operator,
    /** Denies the first call that waits, when there is one. */
    async deny() {
      await using client = await operator();
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

export const unknown = {
  error: { code: 'outcome_unknown', may_have_run: true, retryable: false, category: 'permanent' },
};

const result = { result: { success: true } };

/** The outcome of an unsafe call when the orchestrator dies at a point, and how often it may have run. */
export const unsafeOutcomes = {
  'orchestrator.call.received': [result, [1]],
  'orchestrator.journal.started': [unknown, [0]],
  'orchestrator.call.sent': [unknown, [0, 1]],
  'orchestrator.call.returned': [unknown, [1]],
  'orchestrator.journal.finished': [result, [1]],
  'orchestrator.reply.before': [result, [1]],
  'orchestrator.reply.after': [result, [1]],
} as const;

/** Expects that a call that is not safe to repeat runs once at most when the orchestrator dies at these points, and that its caller learns the truth. */
export async function expectTruth(points: readonly (keyof typeof unsafeOutcomes)[]): Promise<void> {
  await using stack = await startCrashingStack();
  for (const point of points) {
    const [outcome, runs] = unsafeOutcomes[point];
    const label = point.replaceAll('.', '_');
    const call = { name: 'mcp_counter__count', arguments: { label } };
    const ended = await stack.crashAt(point, () => stack.rosa.execute(call, { requestId: label }));
    expect(ended, point).toMatchObject(outcome);
    if (outcome === unknown) expect(JSON.stringify(ended), point).toContain(`request ${label}`);
    expect(runs, point).toContain(stack.starts(label));
    expect(await stack.status(label), point).toMatchObject({
      state: 'finished',
      outcome: outcome === unknown ? 'outcome_unknown' : 'ok',
    });
  }
}
