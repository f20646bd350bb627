import type { MissingServer } from '@signalbox/mcp-host';
import type { Manifest } from '@signalbox/protocol';
import type { RoleToolAllowlist } from '../roles/role-tool-allowlist.ts';

/** The servers that have listed no tool yet, as a manifest names them. */
export type NotReady = NonNullable<Manifest['not_ready']>;

/** The most servers that a manifest names. */
const maxNamed = 100;
/** The longest reason, in characters. */
const maxReason = 500;

/** Lists the missing servers whose tools `role` may be allowed to use. The role learns of no other server. */
export function missingServersOf(
  missing: readonly MissingServer[],
  allowlist: RoleToolAllowlist,
  role: string,
): NotReady {
  return notReadyOf(missing.filter((server) => allowlist.mayAllowToolOf(role, server)));
}

/** Describes missing servers, for people who may see all. */
export function notReadyOf(missing: readonly MissingServer[]): NotReady {
  return missing.slice(0, maxNamed).map(({ server, state, reason }) => ({
    server,
    state,
    ...(reason !== undefined && { reason: reason.slice(0, maxReason) }),
  }));
}
