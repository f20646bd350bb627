import { connectBroker } from '@signalbox/client';
import { readCounter, startChild, startTestBroker, tempDir } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import type { OrchestratorSettings } from '../faults/process-messages.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
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
    starts: (label: string) =>
      readCounter(counterFile).filter(({ at, args }) => at === 'start' && args.label === label).length,
    /** The orchestrator dies at the next passing of `point`; another one takes its place. */
    async crashAt(point: string, meanwhile: () => Promise<unknown>) {
      await orchestrator.arm(point);
      const outcome = meanwhile();
      expect(await orchestrator.exited).toMatchObject({ signal: 'SIGKILL' });
      orchestrator = await start();
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

test('a call that is safe to repeat runs again after a crash, and needs no entry in the journal', async () => {
  await using stack = await startCrashingStack();
  const call = { name: echo, arguments: { label: 'safe' } };
  const ended = await stack.crashAt('orchestrator.call.returned', () =>
    stack.rosa.execute(call, { requestId: 'safe' }),
  );
  expect(ended).toHaveProperty('result.structuredContent', { label: 'safe' });
  expect(stack.starts('safe')).toBe(2);
});
