import type { Config, RoleEntry } from '../config/index.ts';
import { definedValues } from './defined-values.ts';

/** Returns what each role may send, for the roles that say so. The broker enforces it. */
export function sendPolicies(
  roles: Readonly<Record<string, RoleEntry>>,
): Record<string, NonNullable<RoleEntry['send']>> {
  return definedValues(roles, ({ send }) => send);
}

/** Returns the limits that roles have of their own, for the roles that have some. The broker enforces them. */
export function roleLimits(
  roles: Readonly<Record<string, RoleEntry>>,
): Record<string, NonNullable<RoleEntry['limits']>> {
  return definedValues(roles, ({ limits }) => limits);
}

/** Returns the roles that a configuration names. Messages can be sent to them before an agent has one. */
export function namedRoles({ roles, auth }: Pick<Config, 'roles' | 'auth'>): string[] {
  return [...new Set([...Object.keys(roles), ...Object.values(auth?.roles ?? {})])];
}
