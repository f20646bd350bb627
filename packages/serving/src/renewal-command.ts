import { permissionsOfRole } from '@signalbox/protocol/permissions';

/** Returns the command that issues a token like the one of this agent, which is an agent id or the pattern of a minting token. */
export function renewalCommand({
  agent,
  role,
  roles,
  approves,
}: {
  agent: string;
  role: string;
  roles?: readonly string[] | undefined;
  approves?: readonly string[] | undefined;
}): string {
  if (permissionsOfRole(role).length === 0) {
    const quoted = agent.endsWith('*') ? `'${agent}'` : agent;
    const given = roles === undefined ? `--role ${role}` : `--roles ${roles.join(',')}`;
    const decides = approves === undefined ? '' : ` --approves '${approves.join(',')}'`;
    return `signalbox token issue --agent ${quoted} ${given}${decides}`;
  }
  const name = /^operator\.(.+)$/.exec(agent)?.[1] ?? 'NAME';
  const permissions = role === 'operator' ? '' : ` --permissions ${role}`;
  return `signalbox token issue --operator --name ${name}${permissions}`;
}
