import { McpProxyExecutor } from '@signalbox/worker';
import { setupOf } from '../processes.ts';
import { serveLoad } from './load-orders.ts';
import type { Ended, LoadWorker } from './steady-load.ts';

/** Workers that call the tool that takes some time, each with a connection, an agent and a token of its own. */
export interface CallersSetup {
  url: string;
  tool: string;
  toolMs: number;
  workers: { agent: string; token: string; lanes: number }[];
}

const { url, tool, toolMs, workers } = setupOf<CallersSetup>();
let calls = 0;

const call = async (executor: McpProxyExecutor): Promise<Ended> => {
  // No two calls are the same, so nothing on the way can answer for another one.
  const duration = toolMs / 1000 + ++calls * 1e-9;
  const { error } = await executor.execute({ name: tool, arguments: { duration, steps: 1 } });
  if (!error) return 'done';
  if (error.code !== 'quota_exceeded') throw new Error(`a call ended as ${error.code}: ${error.message}`);
  return { retryAfterMs: (error.retry_after_seconds ?? 0) * 1000 };
};

const executors = await Promise.all(
  workers.map(({ agent, token }) => McpProxyExecutor.connect({ url, token, agent })),
);
const load = executors.map(
  (executor, at): LoadWorker => ({ lanes: workers[at]!.lanes, operation: () => call(executor) }),
);
serveLoad(load, () => Promise.all(executors.map((executor) => executor.close())));
