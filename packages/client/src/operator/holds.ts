import type { BrokerClient } from '@signalbox/client';
import { type AdminParams, type Hold, SignalboxError } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { queryOrchestrator } from './orchestrator/orchestrator-request.ts';

/** The target of a hold: an agent, a role, a tool or everything. */
export type HoldTarget = Pick<Hold, 'on' | 'name'>;

/**
 * Places a hold. Resolves when it is on the broker's disk. Rejects with `unknown_hold` for an agent or a role that the broker does not
 * know, unless it is `unchecked`.
 */
export async function placeHold(client: BrokerClient, hold: AdminParams<'hold'>): Promise<Hold> {
  return (await client.admin('hold', hold)).hold;
}

/** Releases holds by their ids, or the one hold on a target. Rejects with `unknown_hold` if there is none. */
export async function releaseHolds(
  client: BrokerClient,
  which: { ids: string[] } | HoldTarget,
): Promise<Hold[]> {
  return (await client.admin('release', which)).released;
}

/** Lists the current holds, the oldest first. */
export async function listHolds(client: BrokerClient): Promise<Hold[]> {
  return (await client.admin('holds', {})).holds;
}

/**
 * Asks the orchestrator whether a pattern matches a tool that exists now. Rejects with `unknown_hold` and the nearest tool if none matches.
 */
export async function checkToolPattern(
  client: BrokerClient,
  orchestrator: string,
  pattern: string,
): Promise<void> {
  const query = { op: 'explain' as const, role: 'operator', tool: pattern };
  const { matches, nearest } = await queryOrchestrator(client, orchestrator, query);
  if (matches > 0) return;
  const hint = nearest === undefined ? '' : `; the nearest is '${toolLabel({ tool: nearest })}'`;
  throw new SignalboxError('unknown_hold', `no tool has a name like '${pattern}'${hint}`);
}
