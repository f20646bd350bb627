import { withSession } from '../client-session.ts';
import type { ConnectionFlags } from '../connection.ts';
import { formatDuration } from '../duration.ts';
import { oneLine, printJson, printLines, tableLines } from '../output.ts';
import { bodyText } from './message-text.ts';

export interface AgentsFlags extends ConnectionFlags {
  role?: string;
  json?: boolean;
}

/** Lists who is connected, but for this command's own connection. */
export async function listAgents(flags: AgentsFlags): Promise<void> {
  const agents = await withSession(flags, async ({ client }) => {
    const connected = await client.listConnected({
      withStatus: true,
      ...(flags.role !== undefined && { role: flags.role }),
    });
    return connected
      .filter(({ address }) => address !== client.address)
      .map(({ agent, address, role, connected_at, status }) => ({
        agent,
        address,
        role,
        connected_at,
        status: status ?? null,
      }));
  });
  if (flags.json) return printJson({ agents });
  if (agents.length === 0) return printLines('no agents are connected');
  const rows = agents.map(({ address, role, connected_at, status }) => [
    address,
    role,
    formatDuration(Date.now() - connected_at),
    status === null ? '-' : oneLine(bodyText(status), 60),
  ]);
  printLines(...tableLines(['AGENT', 'ROLE', 'CONNECTED FOR', 'STATUS'], rows));
}
