import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { printJson, printLines, tableLines } from '../terminal/output.ts';
import { agentHeadings, agentRows } from './agent-rows.ts';

/** The options of `signalbox agents`. */
export interface AgentsFlags extends ConnectionFlags {
  role?: string;
  json?: boolean;
}

/** Lists the connected agents, without this command's own connection. */
export async function listAgents(flags: AgentsFlags): Promise<void> {
  const connections = await withSession(flags, async ({ client }) => {
    const connected = await client.listConnected({
      withStatus: true,
      ...(flags.role !== undefined && { role: flags.role }),
    });
    return connected.filter(({ address }) => address !== client.address);
  });
  if (flags.json)
    return printJson({ agents: connections.map((one) => ({ ...one, status: one.status ?? null })) });
  if (connections.length === 0) return printLines('no agents are connected');
  printLines(tableLines(agentHeadings, agentRows(connections, Date.now())));
}
