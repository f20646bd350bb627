import { queryOrchestrator, readManifest } from '@signalbox/client/operator';
import type { ServerReport } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, oneLine, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';
import { askedRole } from '../token/listed-roles.ts';
import { notReadyLines } from './not-ready.ts';

/** The options of `signalbox tools list`. `role` is that whose tools are listed. */
export interface ToolsListFlags extends ToolsFlags {
  role?: string;
}

/**
 * Prints the tools that a role may use, by default the caller's. An operator is also told whose tools are left out or changed, and
 * whether the role that was named is one that the configuration does not list.
 */
export async function listTools(flags: ToolsListFlags): Promise<void> {
  const { role } = flags;
  const { manifest, servers, warning } = await withClient(flags, async (connected) => {
    const orchestrator = await orchestratorOf(connected, flags);
    const manifest = await readManifest(connected.client, orchestrator, role === undefined ? {} : { role });
    const warning = role === undefined ? undefined : await askedRole(connected, flags, role);
    return { manifest, servers: await serversFor(connected, orchestrator), warning };
  });
  const { version, tools = [], not_ready } = manifest;
  const withProblems = servers.filter(({ tool_problems }) => tool_problems.length > 0);
  if (flags.json) {
    const problems = withProblems.flatMap(({ name: server, tool_problems }) =>
      tool_problems.map((problem) => ({ server, ...problem })),
    );
    return printJson({
      version,
      tools,
      ...(not_ready && { not_ready }),
      ...(problems.length > 0 && { problems }),
      ...(warning !== undefined && { warnings: [warning] }),
    });
  }
  if (warning !== undefined) printNotes(`signalbox: ${warning}`);
  const whose = role === undefined ? 'your role' : `role ${role}`;
  const remarks = withProblems.map(
    ({ name, tool_problems }) =>
      `${name}: ${count(tool_problems.length, 'problem')} with its tools: signalbox servers show ${name}`,
  );
  const missing = notReadyLines(not_ready);
  if (tools.length === 0) {
    const none = missing.length > 0 ? `no tools for ${whose} yet:` : `${whose} may use no tools`;
    return printLines(none, ...missing, ...remarks);
  }
  const rows = tools.map(({ name, title, description }) => [
    toolLabel({ tool: name }),
    oneLine(description ?? title ?? '', 90),
  ]);
  const total = `${count(tools.length, 'tool')} for ${whose}.`;
  printLines(tableLines(['TOOL', 'ITS SERVER SAYS'], rows), '', total, ...missing, ...remarks);
}

async function serversFor({ client }: ConnectedClient, orchestrator: string): Promise<ServerReport[]> {
  if (client.role !== 'operator') return [];
  return (await queryOrchestrator(client, orchestrator, { op: 'servers' })).servers;
}
