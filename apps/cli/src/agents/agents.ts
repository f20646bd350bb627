import { listOfflineWithMail, type WaitingAgent } from '@signalbox/operator';
import { isPermitted, operationPermissions, permissionsOfRole } from '@signalbox/protocol';
import { type Session, withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { agentHeadings, agentRows, optionalColumns } from './agent-rows.ts';

/** The options of `signalbox agents`. */
export interface AgentsFlags extends ConnectionFlags {
  role?: string;
  json?: boolean;
}

/** The most offline agents that are listed. */
const maxOffline = 200;

/** Lists the connected agents, without this command's own connection, and for operators the offline ones that have mail. */
export async function listAgents(flags: AgentsFlags): Promise<void> {
  const { connections, offline } = await withSession(flags, async (session) => {
    const { client } = session;
    const connected = await client.listConnected({
      withStatus: true,
      ...(flags.role !== undefined && { role: flags.role }),
    });
    return {
      connections: connected.filter(({ address }) => address !== client.address),
      offline: await offlineAgents(session, flags.role),
    };
  });
  if (flags.json)
    return printJson({
      agents: connections.map((one) => ({ ...one, status: one.status ?? null })),
      offline: offline?.agents ?? null,
      ...(offline && { more_offline: offline.more }),
    });
  const rows = agentRows(connections, offline?.agents ?? [], Date.now());
  if (rows.length === 0) return printLines('no agents are connected');
  printLines(tableLines(agentHeadings, rows, { optionalColumns }));
  const holds = new Set(connections.flatMap(({ on_hold }) => on_hold ?? []));
  if (holds.size > 0) printLines('', ...holds);
  if (offline?.more)
    printNotes(`More than ${maxOffline} agents are offline and have mail; the first are shown.`);
}

/** Asks for the offline agents with mail; `undefined` if the token may not see them. */
async function offlineAgents(
  { client }: Session,
  role: string | undefined,
): Promise<{ agents: WaitingAgent[]; more: boolean } | undefined> {
  if (!isPermitted(operationPermissions.admin.waiting, permissionsOfRole(client.role))) return undefined;
  return await listOfflineWithMail(client, { limit: maxOffline, ...(role !== undefined && { role }) });
}
