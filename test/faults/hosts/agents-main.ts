import { processFaults } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import type { CallEnd, FromWorker } from '../process-messages.ts';

/** An order to an agent: to call a tool of a server now. */
export interface AgentOrder {
  agent: string;
  id: string;
  tool: string;
  arguments: Record<string, unknown>;
  timeoutMs: number;
}

/** Runs many agents in one process. Each has a connection of its own, and reports the end of each call at once. */
const { url, ca, tokens } = JSON.parse(process.argv[2]!) as {
  url: string;
  ca: string;
  tokens: Record<string, string>;
};
processFaults();
process.on('disconnect', () => process.exit(0));
const agents = new Map<string, McpProxyExecutor>();
for (const [agent, token] of Object.entries(tokens)) {
  const options = { url, ca, token, agent, waitForBroker: true, manifestTimeoutMs: 60_000 };
  agents.set(agent, await McpProxyExecutor.connect(options));
}

async function call({ agent, id, tool, arguments: args, timeoutMs }: AgentOrder): Promise<void> {
  const toolCall = { name: tool, arguments: { ...args, label: id } };
  const { error } = await agents.get(agent)!.execute(toolCall, { requestId: id, timeoutMs });
  const end: CallEnd = error ? { code: error.code, mayHaveRun: error.may_have_run } : {};
  process.send?.({ ended: id, end } satisfies FromWorker);
}

process.on('message', (orders: AgentOrder[]) => {
  if (Array.isArray(orders)) for (const order of orders) void call(order);
});
process.send?.({ pid: process.pid });
