import {
  hostRole,
  isAgentId,
  isMintingPattern,
  isNamedOperator,
  isReservedName,
  type Permission,
  permissionsOfRole,
} from '@signalbox/protocol';
import type { AuthEntry } from '../config/index.ts';
import { shown } from './shown.ts';

/** The identity of a token's holder, and its rights. */
export interface ClaimedIdentity {
  agent: string;
  role: string;
  permissions: Permission[];
}

type Claims = Readonly<Record<string, unknown>>;
type Refusal = { refusal: string };

/**
 * Reads the identity that the claims of a token state. The agent id must stand there as it is, and role and permissions come from our
 * own maps. Returns why the claims are refused, naming the claim.
 */
export function identityOf(claims: Claims, auth: AuthEntry): ClaimedIdentity | Refusal {
  const rights = rightsOf(claims, auth);
  if ('refusal' in rights) return rights;
  const { role, permission } = rights;
  const agent = agentOf(claims, auth, rights);
  if (typeof agent !== 'string') return agent;
  return { agent, role, permissions: permission === undefined ? [] : [permission] };
}

/** The rights that the values of the role claim give. As with tokens of the broker, a minting token has no other rights. */
interface Rights {
  role: string;
  permission?: Permission;
}

function rightsOf(claims: Claims, { roleClaim, roles, permissions = {} }: AuthEntry): Rights | Refusal {
  const values = valuesOf(roleClaim, claimAt(claims, roleClaim));
  const found = [...new Set(values.flatMap((value) => own(roles, value)))];
  const [role, second] = found;
  if (role === undefined) {
    const said = values.length === 0 ? 'is missing, or no text' : `holds ${shown(values)}`;
    return {
      refusal: `the claim '${roleClaim}' ${said}, and auth.roles maps none of it to a role; add one of its values there, or give this client another one at the provider`,
    };
  }
  if (second !== undefined) {
    return {
      refusal: `the claim '${roleClaim}' holds ${shown(values)}, which auth.roles maps to several roles, ${shown(found)}; a token must lead to exactly one: take the others from this client at the provider`,
    };
  }
  const given = new Set(values.flatMap((value) => own(permissions, value)));
  const [needed] = permissionsOfRole(role);
  if (needed === undefined) return given.has('mint') ? { role, permission: 'mint' } : { role };
  if (!given.has(needed)) {
    return {
      refusal: `the claim '${roleClaim}' holds ${shown(values)}, which gives the role '${role}' without the permission '${needed}'; auth.permissions must give it`,
    };
  }
  if (!given.has('mint')) return { role, permission: needed };
  return {
    refusal: `the claim '${roleClaim}' holds ${shown(values)}, which auth.permissions maps to '${needed}' and to 'mint'; a token has one of them`,
  };
}

function agentOf(claims: Claims, { agentClaim }: AuthEntry, { role, permission }: Rights): string | Refusal {
  const agent = claimAt(claims, agentClaim);
  const elsewhere = 'have the provider put it there, or name another claim in auth.agentClaim';
  if (agent === undefined) {
    return { refusal: `the claim '${agentClaim}', which names the agent, is missing; ${elsewhere}` };
  }
  if (typeof agent !== 'string') {
    return { refusal: `the claim '${agentClaim}', which names the agent, is no text; ${elsewhere}` };
  }
  if (role === hostRole) {
    return { refusal: `the role '${hostRole}' is for tokens that an operator issues; ${elsewhere}` };
  }
  const mayMint = permission === 'mint';
  if (!(mayMint ? isMintingPattern(agent) : isAgentId(agent))) {
    const form = mayMint
      ? 'the pattern of a minting token, as in ci-*'
      : 'an agent id: lower-case letters, digits and _.-, at most 128, without a sub-inbox';
    return { refusal: `the claim '${agentClaim}' is ${shown([agent])}, which is not ${form}; ${elsewhere}` };
  }
  const isOfOperators = permission === 'operator' || permission === 'observer';
  if (isOfOperators && !isNamedOperator(agent)) {
    return {
      refusal: `the claim '${agentClaim}' is '${agent}', and with the role '${role}' it must be like 'operator.alice'; ${elsewhere}`,
    };
  }
  if (!isOfOperators && isReservedName(agent.replace(/\*$/, ''))) {
    return { refusal: `the claim '${agentClaim}' is '${agent}', which is a reserved name; ${elsewhere}` };
  }
  return agent;
}

/** Returns the claim with exactly this name; else the one that lies where the name leads with its dots, as in `realm_access.roles`. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Claims)[part];
  }
  return found;
}

/** Returns the texts of a claim. `scope` holds a list with spaces between its values (RFC 8693, section 4.2). */
function valuesOf(name: string, value: unknown): string[] {
  if (name === 'scope' && typeof value === 'string') return value.split(' ');
  return [value].flat().filter((one) => typeof one === 'string');
}

function own<T>(map: Readonly<Record<string, T>>, key: string): T[] {
  return Object.hasOwn(map, key) ? [map[key]!] : [];
}
