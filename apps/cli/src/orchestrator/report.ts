import { count, tableLines } from '../output.ts';

/** What an orchestrator says of itself when its first inventory is there. */
export interface OrchestratorReady {
  url: string;
  servers: { name: string; state: string; tools: number }[];
  roles: { role: string; tools: number }[];
  /** What roles without an entry may use. */
  unlisted: 'allow' | 'deny';
  tools: number;
  /** Tools that are offered under another name than their server's and their own make. */
  renamed: { server: string; tool: string; name: string; reason: string }[];
  /** Callable by their exact names, and in no list. */
  hidden: { name: string; server: string }[];
  problems: { server: string; tool?: string; message: string }[];
  warnings: string[];
}

/** Most lines for one kind of remark; --json has them all. */
const maxRemarks = 10;

/** The orchestrator's report for people. */
export function orchestratorLines(ready: OrchestratorReady): string[] {
  return [
    `orchestrator ready: ${count(ready.tools, 'tool')} from ${count(ready.servers.length, 'MCP server')}, serving at ${ready.url}`,
    ...indent(serverLines(ready)),
    ...indent(roleLines(ready)),
    ...indent(remarkLines(ready)),
  ];
}

function serverLines({ servers, problems }: OrchestratorReady): string[] {
  if (servers.length === 0)
    return ['no MCP servers are configured; add some under mcpServers in signalbox.yaml'];
  const rows = servers.map(({ name, state, tools }) => {
    const failed = problems.find(({ server, tool }) => server === name && tool === undefined);
    return [name, failed ? `not working: ${failed.message}` : `${count(tools, 'tool')} (${state})`];
  });
  return tableLines(['SERVER', 'TOOLS'], rows);
}

function roleLines({ roles, unlisted, tools }: OrchestratorReady): string[] {
  const rest = ['any other role', unlisted === 'allow' ? count(tools, 'tool') : 'no tools'];
  return tableLines(
    ['ROLE', 'MAY USE'],
    [...roles.map(({ role, tools: n }) => [role, count(n, 'tool')]), rest],
  );
}

/** What is not as its server has it, and why. */
function remarkLines({ servers, renamed, hidden, problems }: OrchestratorReady): string[] {
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
