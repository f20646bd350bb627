import type { RoleEntry } from '@signalbox/config';
import { definedValues } from './defined-values.ts';

/** Returns what each role may send, for the roles that say so. The broker enforces it. */
export function sendPolicies(
  roles: Readonly<Record<string, RoleEntry>>,
): Record<string, NonNullable<RoleEntry['send']>> {
  return definedValues(roles, ({ send }) => send);
}
