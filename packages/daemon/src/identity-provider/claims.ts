import { isMintingPattern } from '@signalbox/broker';
import type { AuthEntry } from '@signalbox/config';
import {
  isAgentId,
  isNamedOperator,
  isReservedName,
  type Permission,
  permissionsOfRole,
} from '@signalbox/protocol';

/** Who the holder of a token is, and what it may do. */
export interface ClaimedIdentity {
  agent: string;
  role: string;
  permissions: Permission[];
}

/**
 * Reads the identity that the claims of a token state. The agent id must stand there as it is, and the role comes from our own map.
 * Returns why the claims are refused, naming the claim.
 */
export function identityOf(
  claims: Readonly<Record<string, unknown>>,
  { agentClaim, roleClaim, roles, permissions = {} }: AuthEntry,
): ClaimedIdentity | { refusal: string } {
  const values = [claims[roleClaim]].flat().filter((value): value is string => typeof value === 'string');
  const found = [...new Set(values.flatMap((value) => own(roles, value)))];
  const [role, second] = found;
  if (role === undefined) {
    const said = values.length === 0 ? 'is missing' : `holds ${shown(values)}`;
    return { refusal: `the claim '${roleClaim}' ${said}, and auth.roles maps none of it to a role` };
  }
  if (second !== undefined) {
    return {
      refusal: `the claim '${roleClaim}' leads to several roles, ${shown(found)}; a token must lead to exactly one`,
    };
  }
  const given = [...new Set(values.flatMap((value) => own(permissions, value)))];
  const mayMint = given.includes('mint');
  const [needed] = permissionsOfRole(role);
  if (needed !== undefined && !given.includes(needed))
    return {
      refusal: `the role '${role}' needs the permission '${needed}', which auth.permissions does not give`,
    };
  const agent = claims[agentClaim];
  if (typeof agent !== 'string') return { refusal: `the claim '${agentClaim}' is missing` };
  if (!(mayMint ? isMintingPattern(agent) : isAgentId(agent))) {
    const form = mayMint
      ? 'the pattern of a minting token, as in ci-*'
      : 'an agent id: lower-case letters, digits and _.-';
    return { refusal: `the claim '${agentClaim}' is ${shown([agent])}, which is not ${form}` };
  }
  const isOperators = needed !== undefined && isNamedOperator(agent);
  if (!isOperators && (needed !== undefined || isReservedName(agent.replace(/\*$/, '')))) {
    const rule =
      needed === undefined
        ? 'is a reserved name'
        : `does not begin with 'operator.', as the role '${role}' needs`;
    return { refusal: `the claim '${agentClaim}' is '${agent}', which ${rule}` };
  }
  // As with tokens of the broker, a minting token does nothing else, and only the roles of operators have their permission.
  return { agent, role, permissions: mayMint ? ['mint'] : needed === undefined ? [] : [needed] };
}

function own<T>(map: Readonly<Record<string, T>>, key: string): T[] {
  return Object.hasOwn(map, key) ? [map[key]!] : [];
}

function shown(values: readonly string[]): string {
  const all = values.map((value) => `'${value.slice(0, 64)}'`);
  return all.length > 4 ? `${all.slice(0, 4).join(', ')} …` : all.join(', ');
}
