import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { RoleToolAllowlist, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { counterServer } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import type { FleetCounts, FleetOrder, FleetSetup } from './fleet.ts';
import { FleetAgent } from './fleet-agent.ts';
import { startTraffic } from './fleet-traffic.ts';

/** Runs the agents of a load test and their orchestrator. Takes a {@link FleetSetup}, then orders, and answers each when it is done. */
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

const counts: FleetCounts = { notes: 0, asks: 0, calls: 0, deadLetters: 0, failures: 0 };
const callers = 5;
let agents: FleetAgent[] = [];
let executors: McpProxyExecutor[] = [];
let traffic: Disposable | undefined;

async function begin({ url, directory, tokens, orchestratorToken }: FleetSetup): Promise<void> {
  const host = startMcpHost({ servers: { counter: counterServer(`${directory}/counter.jsonl`) } });
  const client = await connectBroker({
    url,
    token: orchestratorToken,
    agent: 'orchestrator',
  });
  const allowlist = RoleToolAllowlist.fromEntries([
    ['worker', ['mcp_counter__*']],
    ['operator', ['*']],
  ]);
  await startOrchestrator({ client, host, policy: wholePolicy({ allowlist }) });
  agents = await Promise.all(tokens.map((token, index) => FleetAgent.connect(url, `w-${index + 1}`, token)));
  executors = await Promise.all(
    agents
      .slice(0, callers)
      .map(({ name }, index) => McpProxyExecutor.connect({ url, token: tokens[index]!, agent: name })),
  );
}

async function obey(order: FleetOrder): Promise<unknown> {
  if (order.what === 'traffic') {
    traffic?.[Symbol.dispose]();
    traffic = startTraffic(order, { agents, executors, counts });
    return counts;
  }
  const crowded = 8;
  const made = Array.from({ length: order.count }, async (_, index) => {
    const isOfFew = index < order.count * 0.8;
    const to = agents[index % (isOfFew ? crowded : agents.length)]!;
    const from = agents[(index * 7 + crowded) % agents.length]!;
    await to.makeDeadLetter(from, index);
  });
  await Promise.all(made);
  counts.deadLetters += order.count;
  return undefined;
}

process.on('message', async (message: FleetSetup | FleetOrder) => {
  const answer = 'tokens' in message ? await begin(message) : await obey(message);
  process.send?.({ answer });
});
process.send?.({});
