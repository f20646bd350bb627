import { hostProblems, serverFailure } from '@signalbox/client/operator/internal';
import { type ServerReport, SignalboxError } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';
import { serverDetails, tookText, unshownTexts } from './server-report.ts';

/** The options of `signalbox servers list`. */
export interface ServersFlags extends ToolsFlags {
  verbose?: boolean;
}

/** Prints the state of the hosted MCP servers. */
export async function listServers(flags: ServersFlags): Promise<void> {
  const { servers, holds = [], hosts = [] } = await askOrchestrator(flags, { op: 'servers' });
  if (flags.json) return printJson({ servers, holds, hosts });
  if (servers.length === 0 && hosts.length === 0)
    return printLines('no MCP servers are configured; add some under mcpServers in signalbox.yaml');
  if (flags.verbose) return printLines(...servers.flatMap((server) => [...serverDetails(server), '']));
  printLines(
    statusTable(servers),
    '',
    summary(servers),
    ...problemLines(servers),
    ...hosts.flatMap(hostProblems),
    ...holds,
  );
}

/** Prints all facts about one server. */
export async function showServer(name: string, flags: ToolsFlags): Promise<void> {
  const { servers } = await askOrchestrator(flags, { op: 'servers' });
  const server = servers.find((one) => one.name === name);
  if (!server) {
    const names = servers.map((one) => one.name);
    throw new SignalboxError('server_not_found', `no server is named '${name}'${suggestion(name, names)}`, {
      details: { hint: names.length > 0 ? `there are: ${names.join(', ')}` : 'no servers are configured' },
    });
  }
  if (flags.json) printJson({ server });
  else printLines(...serverDetails(server));
}

function statusTable(servers: readonly ServerReport[]): string[] {
  const areElsewhere = servers.some(({ host }) => host !== undefined);
  const rows = servers.map((server) => [
    server.name,
    ...(areElsewhere ? [server.host ?? '-'] : []),
    server.instances > 1 ? `${server.state} ×${server.instances}` : server.state,
    String(server.tool_count),
    String(server.in_flight),
    String(server.waiting),
    tookText(server.p50_ms),
    tookText(server.p95_ms),
    String(server.restarts),
    server.circuit,
    `${server.cache_entries}/${server.cache_hits}`,
    oneLine(server.last_error ?? '-', 60),
  ]);
  return tableLines(['SERVER', ...(areElsewhere ? ['HOST'] : []), ...headings], rows);
}

const headings = [
  ...['STATE', 'TOOLS', 'RUNNING', 'WAITING', 'P50', 'P95', 'RESTARTS'],
  ...['CIRCUIT', 'CACHE', 'LAST ERROR'],
];

function problemLines(servers: readonly ServerReport[]): string[] {
  return servers.flatMap((server) => {
    const { name, state, tool_problems } = server;
    const failure = state === 'backing_off' || state === 'ejected' ? serverFailure(server) : undefined;
    const problems =
      tool_problems.length > 0 ? [`${count(tool_problems.length, 'problem')} with its tools`] : [];
    return [
      ...(failure === undefined ? [] : [oneLine(failure, 300)]),
      ...problems,
      ...unshownTexts(server),
    ].map((text) => `${name}: ${text}`);
  });
}

function summary(servers: readonly ServerReport[]): string {
  const up = servers.filter(({ state }) => state === 'ready').length;
  return `${up} of ${count(servers.length, 'MCP server')} ready; more of one: signalbox servers show SERVER`;
}
