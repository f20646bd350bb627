import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** An MCP server as a CLI finds it in its configuration, and the variables that this CLI would hand on to it. */
export interface FoundServer {
  command: string;
  args: string[];
  env: Record<string, string>;
  handsOn: 'everything' | 'little';
  /** Options that the CLI read, for the test to look at. */
  read?: unknown;
  /** The tool that the CLI asks whether it may run a command. */
  asks?: string | undefined;
}

/** The line of JSON that a fake CLI prints. */
export interface FakeReport {
  pid: number;
  argv: string[];
  ownVariables: Record<string, string>;
  server: FoundServer;
  tools: string[];
  echoed: unknown;
  /** The text with which the tool that was asked answered. */
  permission?: string | undefined;
  tokenFile: string;
  modes: { directory: string; token: string };
}

/**
 * Starts the server that a CLI's configuration names, lists and calls tools like that CLI, and prints a report. With the
 * argument `stay` it stays until SIGTERM; with `exit-N` it ends with that code.
 */
export async function actAsAgent(server: FoundServer): Promise<void> {
  const argv = process.argv.slice(2);
  const client = new Client({ name: 'fake-cli', version: '1.0.0' });
  const inherited = server.handsOn === 'everything' ? (process.env as Record<string, string>) : {};
  const { command, args, env } = server;
  await client.connect(
    new StdioClientTransport({ command, args, env: { ...inherited, ...env }, stderr: 'ignore' }),
  );
  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({ name: 'mcp_counter__echo', arguments: { hi: 1 } });
  const permission = server.asks === undefined ? undefined : await askPermission(client, server.asks);
  const tokenFile = env.SIGNALBOX_TOKEN_FILE ?? '';
  const own = Object.entries(process.env).filter(([name]) => name.startsWith('SIGNALBOX_'));
  const report: FakeReport = {
    pid: process.pid,
    argv,
    ownVariables: Object.fromEntries(own) as Record<string, string>,
    server,
    tools: tools.map(({ name }) => name),
    echoed: structuredContent,
    permission,
    tokenFile,
    modes: { directory: modeOf(dirname(tokenFile)), token: modeOf(tokenFile) },
  };
  const ended = new Promise((resolve) => process.once('SIGTERM', resolve));
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (argv.includes('stay'))
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 60_000))]);
  await client.close();
  const exit = argv.find((text) => text.startsWith('exit-'));
  process.exit(exit === undefined ? 0 : Number(exit.slice('exit-'.length)));
}

/** Asks as Claude Code does before it runs a command, and waits for as long as that does. */
async function askPermission(client: Client, name: string): Promise<string> {
  const question = { tool_name: 'Bash', input: { command: 'make deploy' }, tool_use_id: 'toolu_1' };
  const { content } = await client.callTool({ name, arguments: question }, { timeout: 60_000 });
  const [text] = content as { text: string }[];
  return text!.text;
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}
