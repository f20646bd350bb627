import { queryOrchestrator, readManifest } from '@signalbox/operator';
import type { ServerReport } from '@signalbox/protocol';
import { type Session, withSession } from '../connection/client-session.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';

/** Prints the tools that the caller's role may use. An operator is also told whose tools are left out or changed. */
export async function listTools(flags: ToolsFlags): Promise<void> {
  const { manifest, servers } = await withSession(flags, async (session) => {
    const orchestrator = orchestratorOf(session, flags);
    const manifest = await readManifest(session.client, orchestrator);
    return { manifest, servers: await serversFor(session, orchestrator) };
  });
  const { version, tools = [] } = manifest;
  const withProblems = servers.filter(({ tool_problems }) => tool_problems.length > 0);
  if (flags.json) {
    const problems = withProblems.flatMap(({ name: server, tool_problems }) =>
      tool_problems.map((problem) => ({ server, ...problem })),
    );
    return printJson({ version, tools, ...(problems.length > 0 && { problems }) });
  }
  const remarks = withProblems.map(
    ({ name, tool_problems }) =>
      `${name}: ${count(tool_problems.length, 'problem')} with its tools: signalbox tools status ${name}`,
  );
  if (tools.length === 0) return printLines('your role may use no tools', ...remarks);
  const rows = tools.map(({ name, title, description }) => [name, oneLine(description ?? title ?? '', 90)]);
  const total = `${count(tools.length, 'tool')} for your role.`;
  printLines(tableLines(['TOOL', 'DOES'], rows), '', total, ...remarks);
}

async function serversFor({ client }: Session, orchestrator: string): Promise<ServerReport[]> {
  if (client.role !== 'operator') return [];
  return (await queryOrchestrator(client, orchestrator, { op: 'servers' })).servers;
}
