import { isAgentId, isReservedName } from '@signalbox/protocol';
import type { Permission, TokenRecord } from '@signalbox/store';

/** A wish for a token. Without `ttlMs` it lives as long as the issuer's own, or for ever. */
export interface TokenRequest {
  agent: string;
  role: string;
  ttlMs?: number;
}

/** The reason why a token is not issued. `field` names what to change. */
export interface TokenRefusal {
  code: 'bad_frame' | 'forbidden';
  field: string;
  message: string;
}

const mintingPattern = /^[a-z0-9][a-z0-9_.-]{0,126}\*$/;

/** True for `ci-*`: the name of a minting token, which stands for every agent id with that beginning. */
export function isMintingPattern(agent: string): boolean {
  return mintingPattern.test(agent);
}

/** True if an exact agent id falls under a minting pattern. */
export function patternCovers(pattern: string, agent: string): boolean {
  return isAgentId(agent) && agent.startsWith(pattern.slice(0, -1));
}

/** Applies the rules that every new token obeys. */
export function refuseToken(request: TokenRequest): TokenRefusal | undefined {
  const { agent, role } = request;
  if (!isAgentId(agent) && !isMintingPattern(agent)) {
    return {
      code: 'bad_frame',
      field: 'agent',
      message: `'${agent}' is not an agent id: use lower-case letters, digits and _.- (or a pattern such as ci-* for a minting token)`,
    };
  }
  if (role === 'operator' && agent !== 'operator' && agent !== 'human') {
    return {
      code: 'forbidden',
      field: 'role',
      message: "the role 'operator' goes only with the agents 'operator' and 'human'",
    };
  }
  const name = agent.replace(/\*$/, '');
  if (isReservedName(name) && !reservedPairs.has(`${agent} ${role}`)) {
    const owner = agent === 'orchestrator' ? " with any role but 'orchestrator'" : '';
    return {
      code: 'forbidden',
      field: 'agent',
      message: `the name '${agent}' is reserved and can't be issued${owner}; choose another`,
    };
  }
  return undefined;
}

const reservedPairs = new Set(['orchestrator orchestrator', 'operator operator', 'human operator']);

/** Applies the further rules for a token of a minting token: an exact id under its pattern, its role, a shorter life. */
export function refuseChild(
  parent: TokenRecord,
  request: TokenRequest,
  now: number,
): TokenRefusal | undefined {
  if (!patternCovers(parent.agent, request.agent)) {
    return {
      code: 'forbidden',
      field: 'agent',
      message: `this token may only issue exact agent ids that match '${parent.agent}'`,
    };
  }
  if (request.role !== parent.role) {
    return {
      code: 'forbidden',
      field: 'role',
      message: `this token may only issue the role '${parent.role}'`,
    };
  }
  if (
    parent.expiresAt !== undefined &&
    request.ttlMs !== undefined &&
    now + request.ttlMs > parent.expiresAt
  ) {
    return {
      code: 'forbidden',
      field: 'ttl_ms',
      message: 'a child token may not outlive the token that issues it',
    };
  }
  return undefined;
}

/** Returns what a new token may do beyond being its agent. */
export function permissionsOf(request: TokenRequest): Permission[] {
  if (isMintingPattern(request.agent)) return ['mint'];
  return request.role === 'operator' ? ['operator'] : [];
}
