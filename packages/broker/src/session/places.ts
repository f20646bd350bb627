import { isPrivileged, type Limits } from '@signalbox/protocol';
import { figure, type RoleLimits } from '../limits/role-limits.ts';
import type { Identity } from './handshake.ts';

/** The connections that are counted together. */
export interface ConnectionCounts {
  /** All of them. */
  readonly size: number;
  /** Those of roles other than operator and orchestrator. */
  readonly unprivileged: number;
  /** Those of one agent, or of one minting token. */
  ofAgent(agent: string): number;
  /** Those of the agents that have tokens of one minting token. */
  ofMinter(tokenId: string): number;
}

/** Returns why a new connection has no place, or `undefined` if it has one. The message names the setting to raise. */
export function refusePlace(
  { token, sender: { role } }: Identity,
  counts: ConnectionCounts,
  limits: RoleLimits,
): string | undefined {
  const { total, perAgent, perMinter } = limits.of(role).connections;
  const raise = (name: keyof Limits['connections']): string =>
    `close some, or raise ${limits.setting(role, 'connections', name)}`;
  if (counts.ofAgent(token.agent) >= perAgent) {
    return `'${token.agent}' has all its places: ${figure(perAgent)} connections for role '${role}'; ${raise('perAgent')}`;
  }
  if (token.parentId !== undefined && counts.ofMinter(token.parentId) >= perMinter) {
    return `the agents of one minting token have all their places: ${figure(perMinter)} connections for role '${role}'; ${raise('perMinter')}`;
  }
  return refuseTotal(
    role,
    counts,
    limits.of(role).connections,
    `the broker is full: ${figure(total)} connections`,
    raise('total'),
  );
}

function refuseTotal(
  role: string,
  counts: ConnectionCounts,
  { total, reserved }: Limits['connections'],
  full: string,
  advice: string,
): string | undefined {
  if (isPrivileged(role)) return counts.size >= total ? `${full}; ${advice}` : undefined;
  const isRoom = counts.size < total && counts.unprivileged < total - reserved;
  return isRoom
    ? undefined
    : `${full}, ${figure(reserved)} of them kept for operators and orchestrators; ${advice}`;
}
