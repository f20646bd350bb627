import { setTimeout as delay } from 'node:timers/promises';
import { connectBroker, requestAddress } from '@signalbox/client';
import { processFaults } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { lossesOf } from './losses.ts';
import {
  type CallOrder,
  type CallState,
  type FromWorker,
  type Lost,
  sinkAgent,
  type ToWorker,
  type WorkerSettings,
} from './process-messages.ts';

/** Runs a worker that obeys its parent and reports the end of each call at once. */
const settings = JSON.parse(process.argv[2]!) as WorkerSettings;
const { url, token, agent } = settings;
const fault = processFaults();
process.on('disconnect', () => process.exit(0));
// Its first message says that it is ready.
let isReady = false;
const report = (message: FromWorker | Lost | { pid: number }): void => {
  process.send?.(message);
};
const [executor, client] = await Promise.all([
  McpProxyExecutor.connect({
    ...{ url, token, agent, fault },
    waitForBroker: true,
    manifestTimeoutMs: 60_000,
    log: lossesOf((lost) => isReady && report(lost)),
  }),
  connectBroker({ url, token, agent: requestAddress(agent), waitForBroker: true }),
]);

async function call({ id, tool, arguments: args, timeoutMs }: CallOrder): Promise<void> {
  const toolCall = { name: `mcp_counter__${tool}`, arguments: { ...args, label: id } };
  const { error } = await executor.execute(toolCall, { requestId: id, timeoutMs });
  report({ ended: id, end: error ? { code: error.code, mayHaveRun: error.may_have_run } : {} });
}

async function note(id: string): Promise<void> {
  const receipt = await client.deliver({ id, to: sinkAgent, kind: 'note', body: { id } }).then(
    () => true,
    () => false,
  );
  report({ noted: id, receipt });
}

/** Asks about a call until it has ended. */
async function ask(id: string): Promise<void> {
  const body = { op: 'status', request_id: id };
  const until = performance.now() + 60_000;
  let state: CallState = 'unanswered';
  let result = false;
  while (performance.now() < until) {
    const outcome = await client.request('orchestrator', 'mcp_request', body, {
      ephemeral: true,
      timeoutMs: 15_000,
    });
    if (outcome.status === 'completed') {
      const { data } = outcome.reply.json as { data?: { state: CallState; reply?: object } };
      state = data?.state ?? 'unanswered';
      result = data?.reply !== undefined && 'result' in data.reply;
      if (state !== 'queued' && state !== 'awaiting_approval' && state !== 'running') break;
    }
    await delay(50);
  }
  report({ asked: id, state, result });
}

process.on('message', ({ calls = [], notes = [], status = [] }: ToWorker) => {
  for (const order of calls) void call(order);
  for (const id of notes) void note(id);
  for (const id of status) void ask(id);
});
isReady = true;
report({ pid: process.pid });
