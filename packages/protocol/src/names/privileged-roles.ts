/** Tells whether a role is `operator` or `orchestrator`. No policy applies to these roles, and they have their own limits. */
export function isPrivileged(role: string): boolean {
  return role === 'operator' || role === 'orchestrator';
}

/**
 * The role of an orchestrator with a label. It serves the tools of its machine to the orchestrator that has the rules: it answers requests,
 * and sends nothing else.
 */
export const hostRole = 'host';

/**
 * Tells whether a role is one of the system itself: operator, orchestrator, or orchestrator with a label. These have limits of their own, and
 * no hold is on them.
 */
export function isOfSystem(role: string): boolean {
  return isPrivileged(role) || role === hostRole;
}

/** Tells whether a role serves `mcp_request` messages. */
export function servesCalls(role: string): boolean {
  return role === 'orchestrator' || role === hostRole;
}
