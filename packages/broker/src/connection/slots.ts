import { isOfSystem, type Limits } from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import type { RoleLimits } from '../limits/role-limits.ts';
import type { Identity } from './handshake.ts';

/** Counts connections in the groups that have limits. */
export interface ConnectionCounts {
  /** The number of all connections. */
  readonly size: number;
  /** The number of connections of roles other than operator and orchestrator. */
  readonly unprivileged: number;
  /** Returns the number of connections of one agent, or of one minting token. */
  ofAgent(agent: string): number;
  /** Returns the number of connections of the agents whose tokens a minting token issued. */
  ofMinter(tokenId: string): number;
}

/** Returns the reason why a new connection has no slot, or `undefined` if it has one. The message names the setting to raise. */
export function refuseSlot(
  { token, sender: { role } }: Identity,
  counts: ConnectionCounts,
  limits: RoleLimits,
): string | undefined {
  const { total, reserved, perAgent, perMinter } = limits.of(role).connections;
  const raise = (name: keyof Limits['connections']): string =>
    `close some, or raise ${limits.setting(role, 'connections', name)}`;
  if (counts.ofAgent(token.agent) >= perAgent) {
    return `'${token.agent}' has all its places: ${figure(perAgent)} connections for role '${role}'; ${raise('perAgent')}`;
  }
  if (token.parentId !== undefined && counts.ofMinter(token.parentId) >= perMinter) {
    return `the agents of one minting token have all their places: ${figure(perMinter)} connections for role '${role}'; ${raise('perMinter')}`;
  }
  if (isRoomInAll(role, counts, limits.of(role).connections)) return undefined;
  const kept = isOfSystem(role) ? '' : `, ${figure(reserved)} of them kept for operators and orchestrators`;
  return `the broker is full: ${figure(total)} connections${kept}; ${raise('total')}`;
}

function isRoomInAll(
  role: string,
  { size, unprivileged }: ConnectionCounts,
  { total, reserved }: Limits['connections'],
): boolean {
  return size < total && (isOfSystem(role) || unprivileged < total - reserved);
}
