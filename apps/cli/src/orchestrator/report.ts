import { count, tableLines } from '../output.ts';

/** What an orchestrator says of itself when its first inventory is there. */
export interface OrchestratorReady {
  url: string;
  servers: { name: string; state: string; tools: number }[];
  roles: { role: string; tools: number }[];
  /** What roles without an entry may use. */
  unlisted: 'allow' | 'deny';
  tools: number;
  problems: { server: string; tool?: string; message: string }[];
  warnings: string[];
}

/** The orchestrator's report for people. */
export function orchestratorLines(ready: OrchestratorReady): string[] {
  return [
    `orchestrator ready: ${count(ready.tools, 'tool')} from ${count(ready.servers.length, 'MCP server')}, serving at ${ready.url}`,
    ...indent(serverLines(ready)),
    ...indent(roleLines(ready)),
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

function indent(lines: string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
