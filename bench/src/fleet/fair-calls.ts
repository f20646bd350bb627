import { binOf } from '../calls/npm-proxies.ts';
import { startProcess } from '../processes.ts';
import type { CallersSetup } from './callers-process.ts';
import { type Condition, type FairnessOptions, fairnessRounds } from './fairness-rounds.ts';
import type { FairnessRow, FleetReport } from './fleet-report.ts';
import { startFleet } from './fleet-stack.ts';
import { fairnessRows, mostDone } from './shares.ts';

/**
 * A tool of server-everything that takes so long that its places, not the processor, are what the workers share. `atOnce` is the
 * orchestrator's own limit for one server.
 */
export const slowTool: FleetReport['tool'] = { name: 'trigger-long-running-operation', ms: 50, atOnce: 16 };

const server = 'everything';
const greedyLanes = 300;
const conditions: Condition[] = [
  { condition: 'no greedy worker', greedy: 'absent' },
  { condition: 'greedy, waits as told', greedy: 'heeds' },
  { condition: 'greedy, insists', greedy: 'insists' },
];

/** `modest` workers with 1 or 2 calls in flight, and one with hundreds, on limits that are less than they all want. */
export async function fairCalls(modest: number, options: FairnessOptions): Promise<FairnessRow[]> {
  const names = Array.from({ length: modest }, (_, n) => `modest-${n + 1}`);
  await using stack = await startFleet(
    () => ({ name: server, args: [binOf('@modelcontextprotocol/server-everything')] }),
    [...names, 'greedy'],
  );
  const { url, tokens } = stack;
  const callers = (workers: CallersSetup['workers']) => {
    const setup: CallersSetup = {
      url,
      tool: `mcp_${server}__${slowTool.name}`,
      toolMs: slowTool.ms,
      workers,
    };
    return startProcess(new URL('./callers-process.ts', import.meta.url), setup);
  };
  await using modestOnes = await callers(
    names.map((agent, n) => ({ agent, token: tokens[agent]!, lanes: 1 + (n % 2) })),
  );
  await using greedyOne = await callers([{ agent: 'greedy', token: tokens.greedy!, lanes: greedyLanes }]);
  const processes = { modest: modestOnes, greedy: greedyOne };
  return fairnessRows(await fairnessRounds('calls', conditions, processes, options), mostDone);
}
