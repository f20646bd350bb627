import { discoverServers } from '@signalbox/client/operator';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import { count, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';

/** Prints what every MCP server lists. One that could not be asked is listed with its error, and exit code 1. */
export async function discover(flags: ToolsFlags): Promise<void> {
  const servers = await withClient(flags, async (connected) => {
    using withdrawal = withdrawOnSignal();
    return await discoverServers(connected.client, await orchestratorOf(connected, flags), withdrawal);
  });
  if (servers.some(({ error }) => error !== undefined)) process.exitCode = exitCodes.failed;
  if (flags.json) return printJson({ servers });
  if (servers.length === 0)
    return printLines('no MCP servers are configured; add some under mcpServers in signalbox.yaml');
  const rows = servers.flatMap(({ server, tools }) =>
    tools.map(({ as, name, description = '' }) => [server, as, name, oneLine(description, 60)]),
  );
  const failed = servers.flatMap(({ server, error }) =>
    error === undefined ? [] : [`${server}: not reached: ${error}`],
  );
  printLines(
    ...(rows.length > 0
      ? [...tableLines(['SERVER', 'TOOL', 'ITS OWN NAME', 'ITS SERVER SAYS'], rows), '']
      : []),
    ...failed,
    `${count(rows.length, 'tool')} of ${count(servers.length, 'MCP server')}.`,
  );
}
