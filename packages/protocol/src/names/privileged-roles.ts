/** Tells whether a role is `operator` or `orchestrator`. No policy applies to these roles, and they have their own limits. */
export function isPrivileged(role: string): boolean {
  return role === 'operator' || role === 'orchestrator';
}
