import {
  hostRole,
  isAgentId,
  isConfiguredSenderRole,
  isHostAgent,
  isMintingPattern,
  isNamedOperator,
  isOperator,
  isReservedName,
  permissionsOfRole,
  servesCalls,
} from '@signalbox/protocol';
import { agentTokenMs, renewalCommand } from '@signalbox/serving';
import type { Permission, TokenRecord } from '@signalbox/store';
import { providerTokenPrefix } from './identity-provider.ts';

/** The token that an issuer asks for. `ttlMs` is its lifetime, `null` for none; {@link expiryOf} has the default. */
export interface TokenRequest {
  agent: string;
  role: string;
  /** The roles that the tokens of a minting token may have. By default only `role`. */
  roles?: readonly string[];
  /** The roles on whose tool calls the token decides, or patterns with `*`. */
  approves?: readonly string[];
  /** True for an observer that also reads the bodies that the broker keeps. */
  readsBodies?: boolean;
  ttlMs?: number | null;
}

/** The reason why a token is not issued. `field` names the part of the request to change. */
export interface TokenRefusal {
  code: 'bad_frame' | 'forbidden';
  field: string;
  message: string;
}

/** Tells whether a minting pattern covers an agent id. No pattern covers a reserved name, so that `o*` does not cover `operator`. */
export function patternCovers(pattern: string, agent: string): boolean {
  return isAgentId(agent) && agent.startsWith(pattern.slice(0, -1)) && !isReservedName(agent);
}

/** Checks the rules for every new token. Returns `undefined` if it may be issued. */
export function refuseToken(request: TokenRequest): TokenRefusal | undefined {
  const { agent, role, roles, approves, readsBodies } = request;
  if (readsBodies && role !== 'observer') {
    const message = `only an observer's token may get 'read_bodies', and the role is '${role}'; leave it out`;
    return { code: 'bad_frame', field: 'read_bodies', message };
  }
  if (approves && (isMintingPattern(agent) || permissionsOfRole(role).length > 0)) {
    const who = isMintingPattern(agent)
      ? 'a minting token decides on nothing'
      : `the role '${role}' says it all`;
    return { code: 'bad_frame', field: 'approves', message: `${who}; leave 'approves' out` };
  }
  if (approves && role === hostRole) {
    const message = "an orchestrator with a label decides on nothing; leave 'approves' out";
    return { code: 'bad_frame', field: 'approves', message };
  }
  if (roles === undefined) return refuseHolder(agent, role);
  if (!isMintingPattern(agent)) {
    const message = `'roles' is for a minting token, and '${agent}' is no pattern such as ci-*; leave it out`;
    return { code: 'bad_frame', field: 'roles', message };
  }
  if (!roles.includes(role)) {
    const message = `the role '${role}' is none of 'roles': ${roles.join(', ')}; name one of them, or add it`;
    return { code: 'bad_frame', field: 'roles', message };
  }
  for (const one of roles) {
    const refusal = refuseHolder(agent, one);
    if (refusal) return refusal;
  }
  return undefined;
}

function refuseHolder(agent: string, role: string): TokenRefusal | undefined {
  if (!isAgentId(agent) && !isMintingPattern(agent)) {
    return {
      code: 'bad_frame',
      field: 'agent',
      message: `'${agent}' is not an agent id: use lower-case letters, digits and _.- (or a pattern such as ci-* for a minting token)`,
    };
  }
  if (isConfiguredSenderRole(role)) {
    const message = `the role '${role}' is that of webhooks or schedules, which have no tokens; choose another`;
    return { code: 'forbidden', field: 'role', message };
  }
  const isOfOperators = permissionsOfRole(role).length > 0;
  if (isOfOperators) return isNamedOperator(agent) ? undefined : refuseUnnamed(agent, role);
  if ((role === hostRole) !== isHostAgent(agent)) {
    const message = `the role '${hostRole}' goes with agents named like 'orchestrator.gpu', and no other role does; use --host gpu`;
    return { code: 'forbidden', field: role === hostRole ? 'agent' : 'role', message };
  }
  if (role === hostRole) return undefined;
  const name = agent.replace(/\*$/, '');
  if (isReservedName(name) && !(agent === 'orchestrator' && role === 'orchestrator')) {
    const owner = agent === 'orchestrator' ? " with any role but 'orchestrator'" : '';
    return {
      code: 'forbidden',
      field: 'agent',
      message: `the name '${agent}' is reserved and can't be issued${owner}; choose another`,
    };
  }
  return undefined;
}

/** Refuses a role of operators for an agent whose id is not `operator.` with a name. The first operators need no name. */
function refuseUnnamed(agent: string, role: string): TokenRefusal | undefined {
  if (role === 'operator' && isOperator(agent)) return undefined;
  return {
    code: 'forbidden',
    field: 'role',
    message: `the role '${role}' goes only with an agent named like 'operator.alice'; choose another role, or use --operator --name`,
  };
}

/**
 * Checks the further rules for a child token: its agent id must match the minting token's pattern, it must have one of its roles, and it
 * must not live longer.
 */
export function refuseChild(
  parent: TokenRecord,
  request: TokenRequest,
  now: number,
): TokenRefusal | undefined {
  if (!patternCovers(parent.agent, request.agent)) {
    return {
      code: 'forbidden',
      field: 'agent',
      message: `this token may only issue exact agent ids that match '${parent.agent}' and are not reserved`,
    };
  }
  if (request.approves) {
    const message = 'a minting token issues no token that decides on tool calls; ask an operator for it';
    return { code: 'forbidden', field: 'approves', message };
  }
  const roles = parent.roles ?? [parent.role];
  if (!roles.includes(request.role)) {
    const which = roles.length === 1 ? 'the role' : 'one of the roles';
    const message = `this token may only issue ${which} ${roles.map((role) => `'${role}'`).join(', ')}`;
    return { code: 'forbidden', field: 'role', message };
  }
  // Without a lifetime of its own it ends with its parent at the latest.
  return request.ttlMs === undefined ? undefined : refuseLongerLife(parent, request.ttlMs, now);
}

/** Checks that a token for an operator does not outlive its issuer: otherwise no operator's access would end by itself. */
export function refuseOperator(
  issuer: TokenRecord,
  { role, ttlMs }: TokenRequest,
  now: number,
): TokenRefusal | undefined {
  if (permissionsOfRole(role).length === 0) return undefined;
  return refuseLongerLife(issuer, ttlMs ?? null, now);
}

/** Checks that a token for `ttlMs`, or with `null` for an unlimited time, does not outlive another one. */
export function refuseLongerLife(
  { expiresAt }: TokenRecord,
  ttlMs: number | null,
  now: number,
): TokenRefusal | undefined {
  if (expiresAt === undefined || (ttlMs !== null && now + ttlMs <= expiresAt)) return undefined;
  const message = `it may not outlive the token that issues it, which is valid for another ${Math.max(0, expiresAt - now)} ms`;
  return { code: 'forbidden', field: 'ttl_ms', message };
}

/**
 * Returns the time when a new token expires; `undefined` if it never does. By default tokens of agents expire, because they are in files
 * that nobody looks at again. Tokens of operators and orchestrators do not: their holders are the ones who would have to renew them.
 */
export function expiryOf(
  { role, ttlMs }: TokenRequest,
  parent: TokenRecord | undefined,
  now: number,
): number | undefined {
  if (ttlMs !== undefined) return ttlMs === null ? undefined : now + ttlMs;
  if (parent) return Math.min(parent.expiresAt ?? Number.POSITIVE_INFINITY, now + agentTokenMs);
  return servesCalls(role) || permissionsOfRole(role).length > 0 ? undefined : now + agentTokenMs;
}

/** Describes an expired token to its holder, with the command that renews it. */
export function describeExpired(record: TokenRecord): string {
  const { agent, role, createdAt, expiresAt } = record;
  const lifetimeMs = expiresAt === undefined ? undefined : expiresAt - createdAt;
  const renewal = record.id.startsWith(providerTokenPrefix)
    ? 'get a new one from the identity provider'
    : `renew it with: ${renewalCommand({ ...record, lifetimeMs })}`;
  const at = expiresAt === undefined ? '' : ` on ${new Date(expiresAt).toISOString()}`;
  return `the token of '${agent}' with role '${role}' expired${at}; ${renewal}`;
}

/** Returns the permissions of a new token. */
export function permissionsOf(request: TokenRequest): Permission[] {
  if (isMintingPattern(request.agent)) return ['mint'];
  return [
    ...permissionsOfRole(request.role),
    ...(request.approves ? (['approver'] as const) : []),
    ...(request.readsBodies ? (['read-bodies'] as const) : []),
  ];
}

/** The longest chain of issuers, from the first operator on. */
const maxIssuers = 32;

/**
 * Returns the agents whose tokens led to a new token, if it may decide on tool calls: an agent must not decide on its own calls with a
 * token that it issued. Returns a refusal if the chain is too long to be stored.
 */
export function issuersOf(
  issuer: Pick<TokenRecord, 'agent' | 'issuers'>,
  request: TokenRequest,
): { issuers?: string[]; refusal?: TokenRefusal } {
  if (request.approves === undefined && request.role !== 'operator') return {};
  const issuers = [...new Set([...(issuer.issuers ?? []), issuer.agent])];
  if (issuers.length <= maxIssuers) return { issuers };
  const message = `${maxIssuers} operators issued each other's tokens before this one; have one of the first of them issue it`;
  return { refusal: { code: 'forbidden', field: 'role', message } };
}
