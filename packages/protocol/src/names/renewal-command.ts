import { permissionsOfRole } from '../permissions.ts';

/** Returns the command that issues a token like the one of this agent, which is an agent id or the pattern of a minting token. */
export function renewalCommand({ agent, role }: { agent: string; role: string }): string {
  if (permissionsOfRole(role).length === 0) {
    const quoted = agent.endsWith('*') ? `'${agent}'` : agent;
    return `signalbox token issue --agent ${quoted} --role ${role}`;
  }
  const name = /^operator\.(.+)$/.exec(agent)?.[1] ?? 'NAME';
  const permissions = role === 'operator' ? '' : ` --permissions ${role}`;
  return `signalbox token issue --operator --name ${name}${permissions}`;
}
