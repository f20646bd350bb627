import type { OrchestratorReport } from '@signalbox/daemon/orchestrator';
import { count, tableLines } from '../terminal/output.ts';

/** The largest number of lines for one kind of remark; --json prints them all. */
const maxRemarks = 10;

/** The configuration of an orchestrator and its label. */
interface Origin {
  file?: string | undefined;
  label?: string | undefined;
}

/** Writes an orchestrator's report for people. */
export function orchestratorLines(ready: OrchestratorReport, origin: Origin = {}): string[] {
  return [
    `${headline(ready)}, ${ready.isServing ? 'serving' : 'waiting'} at ${ready.url}`,
    ...(ready.isServing ? [] : ['  another orchestrator serves; this one goes on when that one is over']),
    ...(ready.listen === undefined ? [] : [`  answering probes and scrapers at http://${ready.listen}`]),
    ...indent(serverLines(ready, origin)),
    ...indent(roleLines(ready)),
    ...indent(remarkLines(ready)),
  ];
}

function headline(report: OrchestratorReport): string {
  const { isReady, text } = readiness(report);
  return isReady ? `orchestrator ready: ${text}` : `orchestrator up, and ${text}`;
}

/** Says how many servers have listed their tools. If none of several has, all is up and not ready. */
export function readiness({
  tools,
  servers,
  notReady,
}: {
  tools: number;
  servers: readonly unknown[];
  notReady: readonly { server: string }[];
}): { isReady: boolean; text: string } {
  const told = servers.length - new Set(notReady.map(({ server }) => server)).size;
  const all = count(servers.length, 'MCP server');
  if (told === servers.length) return { isReady: true, text: `${count(tools, 'tool')} from ${all}` };
  if (told <= 0)
    return {
      isReady: false,
      text: servers.length === 1 ? 'its MCP server is not ready' : `none of its ${all} is ready`,
    };
  return { isReady: true, text: `${count(tools, 'tool')} from ${told} of ${all}` };
}

function serverLines(
  { servers, problems, notReady }: OrchestratorReport,
  { file = 'signalbox.yaml', label }: Origin,
): string[] {
  if (servers.length === 0) {
    const which = label === undefined ? '' : ` for host ${label}`;
    return [`no MCP servers are configured${which}; add some under mcpServers in ${file}`];
  }
  const rows = servers.map(({ name, state, tools }) => {
    const missing = notReady.find(({ server }) => server === name);
    if (missing?.state === 'starting') return [name, 'none yet: it is still starting'];
    if (missing?.state === 'away') return [name, `none: ${missing.reason}`];
    if (missing) return [name, `none: it failed to start: ${missing.reason ?? state}`];
    const remarks = problems.filter(({ server, tool }) => server === name && tool !== undefined).length;
    const below = remarks === 0 ? '' : `; ${count(remarks, 'remark')} on its tools below`;
    const told = `${count(tools, 'tool')} (${state})${below}`;
    const problem = problems.find(({ server, tool }) => server === name && tool === undefined)?.message;
    if (problem === undefined) return [name, told];
    // A server that is ready works: the problem is one of its lists, or of an entry without a name.
    return [name, state === 'ready' ? `${told}; ${problem}` : `not working: ${problem}`];
  });
  return tableLines(['SERVER', 'TOOLS'], rows);
}

function roleLines({ label, roles, unlisted, tools, notReady }: OrchestratorReport): string[] {
  if (label !== undefined)
    return ['the orchestrator without a label has the rules of roles: signalbox tools matrix'];
  const rest = ['any other role', unlisted === 'allow' ? count(tools, 'tool') : 'no tools'];
  return tableLines(
    ['ROLE', notReady.length > 0 ? 'MAY USE SO FAR' : 'MAY USE'],
    [...roles.map(({ role, tools: n }) => [role, count(n, 'tool')]), rest],
  );
}

/** Lists the tools that are renamed, hidden or left out, and why. */
function remarkLines({ servers, renamed, hidden, problems }: OrchestratorReport): string[] {
  const own = servers.map(({ name }) => name);
  const hiddenOf = Map.groupBy(hidden, ({ server }) => server);
  return [
    ...bounded(
      renamed.map(({ server, tool, name, reason }) => `renamed: ${server}: ${tool} is ${name} (${reason})`),
    ),
    ...[...hiddenOf].map(
      ([server, tools]) =>
        `hidden: ${count(tools.length, 'tool')} of ${server}, in no list (tool_discovery: false); callable by exact name`,
    ),
    ...bounded(
      problems
        .filter(({ server, tool }) => tool !== undefined || !own.includes(server))
        .map(({ server, tool, message }) =>
          tool === undefined ? `${server}: ${message}` : `${server}: ${tool}: ${message}`,
        ),
    ),
  ];
}

function bounded(lines: string[]): string[] {
  const more = lines.length - maxRemarks;
  return more > 0 ? [...lines.slice(0, maxRemarks), `and ${more} more`] : lines;
}

function indent(lines: string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
