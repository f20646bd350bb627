import type { BrokerClient } from '@signalbox/client';
import { type ConnectedAgent, type ServersReply, SignalboxError } from '@signalbox/protocol';
import { queryOrchestrator } from './orchestrator-request.ts';

/** The time to wait for an orchestrator, in milliseconds. */
const timeoutMs = 2000;

/** Counts the tool calls that wait for a person at the orchestrators among these connections. `undefined` if none of them answers. */
export async function countWaitingApprovals(
  client: BrokerClient,
  connections: readonly Pick<ConnectedAgent, 'address' | 'role'>[],
): Promise<number | undefined> {
  const orchestrators = connections.filter(({ role }) => role === 'orchestrator');
  const asked = await Promise.all(orchestrators.map(({ address }) => approvalsAt(client, address)));
  const answered = asked.filter((one) => one !== undefined);
  if (answered.length === 0) return undefined;
  return answered.reduce((sum, { waiting }) => sum + waiting, 0);
}

async function approvalsAt(
  client: BrokerClient,
  orchestrator: string,
): Promise<ServersReply['approvals'] | undefined> {
  try {
    return (await queryOrchestrator(client, orchestrator, { op: 'servers' }, { timeoutMs })).approvals;
  } catch (error) {
    if (error instanceof SignalboxError) return undefined;
    throw error;
  }
}
