/** Tells whether a role is `operator` or `orchestrator`. No policy applies to these, and they have limits of their own. */
export function isPrivileged(role: string): boolean {
  return role === 'operator' || role === 'orchestrator';
}
