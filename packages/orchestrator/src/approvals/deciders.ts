import {
  isPermitted,
  matchesPattern,
  type Permission,
  permissionsOfRole,
  type Sender,
} from '@signalbox/protocol';

/** Returns the permissions of an asker, as the broker attests them. */
export function permissionsOf({ role, token }: Sender): readonly Permission[] {
  const ofRole = permissionsOfRole(role);
  return token?.approves === undefined ? ofRole : [...ofRole, 'approver'];
}

/** Tells whether the asker may see the approvals of a role. */
export function seesRole(asker: Sender, role: string): boolean {
  return isPermitted(['operator', 'observer'], permissionsOfRole(asker.role)) || isInScope(asker, role);
}

/**
 * Returns the reason why the asker may not decide on calls of an agent under a role; `undefined` if it may. Nobody decides on their own
 * calls, nor with a token that the agent issued, directly or through other tokens.
 */
export function refusalToDecide(
  asker: Sender,
  { agent, role }: { agent: string; role: string },
): string | undefined {
  const { token } = asker;
  if (token === undefined)
    return 'a decision is taken over a live connection, with a token that may decide: send it as ephemeral';
  if (asker.role !== 'operator' && !isInScope(asker, role)) {
    const scope = token.approves?.map((pattern) => `'${pattern}'`).join(', ') ?? 'no role';
    return `your token decides on calls of ${scope}, and this one is of the role '${role}'`;
  }
  if (asker.agent === agent) return `nobody decides on its own calls, and this one is of '${agent}'`;
  if (token.issuers?.includes(agent))
    return `your token was issued with a token of '${agent}', whose call this is; somebody else has to decide`;
  return undefined;
}

function isInScope({ token }: Sender, role: string): boolean {
  return token?.approves?.some((pattern) => matchesPattern(pattern, role)) ?? false;
}
