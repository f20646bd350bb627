import { permissionsOfRole } from '@signalbox/protocol';
import { nearestName } from '@signalbox/protocol/internal';
import type { Config } from '../config.ts';

/**
 * Warns of each role that `auth.roles` names and `roles` does not list, unless `roles` is empty: its agents may use no tools. `file` is
 * the configuration as people named it.
 */
export function unknownMappedRoles({ auth, roles }: Pick<Config, 'auth' | 'roles'>, file: string): string[] {
  const known = Object.keys(roles);
  if (!auth || known.length === 0) return [];
  return Object.entries(auth.roles).flatMap(([value, role]) => {
    if (Object.hasOwn(roles, role) || permissionsOfRole(role).length > 0) return [];
    const nearest = nearestName(role, known);
    const meant = nearest === undefined ? `there are: ${known.join(', ')}` : `did you mean '${nearest}'?`;
    return [
      `${file}: auth.roles.${value}: the role '${role}' has no entry in roles (${meant}), so that its agents may use no tools`,
    ];
  });
}
