import { isAgentId, isReservedName } from '@signalbox/protocol';
import type { Permission, TokenRecord } from '@signalbox/store';

/** The token that an issuer asks for. Without `ttlMs` it lives as long as the minting token that issues it, or for ever. */
export interface TokenRequest {
  agent: string;
  role: string;
  ttlMs?: number;
}

/** The reason why a token is not issued. `field` names the part of the request to change. */
export interface TokenRefusal {
  code: 'bad_frame' | 'forbidden';
  field: string;
  message: string;
}

const mintingPattern = /^[a-z0-9][a-z0-9_.-]{0,126}\*$/;

/** Tells whether a name is the pattern of a minting token, such as `ci-*`, which covers every agent id with that beginning. */
export function isMintingPattern(agent: string): boolean {
  return mintingPattern.test(agent);
}

/** Tells whether a minting pattern covers an agent id. */
export function patternCovers(pattern: string, agent: string): boolean {
  return isAgentId(agent) && agent.startsWith(pattern.slice(0, -1));
}

/** Checks the rules for every new token. Returns `undefined` if it may be issued. */
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

/** Checks the further rules for a child token: an agent id under the minting token's pattern, its role, and no longer lifetime. */
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

/** Returns the permissions of a new token. */
export function permissionsOf(request: TokenRequest): Permission[] {
  if (isMintingPattern(request.agent)) return ['mint'];
  return request.role === 'operator' ? ['operator'] : [];
}
