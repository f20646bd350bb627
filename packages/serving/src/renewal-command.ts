import { permissionsOfRole } from '@signalbox/protocol/permissions';
import { agentTokenMs } from './token-lifetime.ts';

/**
 * Returns the command that issues a token like the one of this agent, which is an agent id or the pattern of a minting token, for as long as
 * this one was issued. `lifetimeMs` is in milliseconds, and absent if it never expires.
 */
export function renewalCommand({
  agent,
  role,
  roles,
  approves,
  lifetimeMs,
}: {
  agent: string;
  role: string;
  roles?: readonly string[] | undefined;
  approves?: readonly string[] | undefined;
  lifetimeMs?: number | undefined;
}): string {
  const expires = lifetimeMs === undefined ? '' : ` --ttl ${spanOf(lifetimeMs)}`;
  if (permissionsOfRole(role).length === 0) {
    const quoted = agent.endsWith('*') ? `'${agent}'` : agent;
    const given = roles === undefined ? `--role ${role}` : `--roles ${roles.join(',')}`;
    const decides = approves === undefined ? '' : ` --approves '${approves.join(',')}'`;
    const isUsual = lifetimeMs !== undefined && spanOf(lifetimeMs) === spanOf(agentTokenMs);
    return `signalbox token issue --agent ${quoted} ${given}${decides}${isUsual ? '' : expires}`;
  }
  const name = /^operator\.(.+)$/.exec(agent)?.[1] ?? 'NAME';
  const permissions = role === 'operator' ? '' : ` --permissions ${role}`;
  return `signalbox token issue --operator --name ${name}${permissions}${expires}`;
}

/** Writes a time as `--ttl` reads it, to the minute, or below a minute to the second. */
function spanOf(ms: number): string {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1000))}s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes % 1440 === 0) return `${minutes / 1440}d`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}
