import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** The built command. */
export const command = fileURLToPath(new URL('../../../apps/cli/bin/signalbox.js', import.meta.url));
/** The number of processes that start at a time. */
const lanes = 8;

export interface SessionsOrder {
  agents: readonly string[];
  tokens: Readonly<Record<string, string>>;
  /** The directory of the token files. */
  home: string;
  env: Record<string, string>;
  /** The tool that each agent calls once. */
  tool: string;
}

/** MCP sessions of agents, each over a `signalbox worker mcp` of its own. */
export interface AgentSessions extends AsyncDisposable {
  pids: number[];
}

/** Starts the sessions. Each has listed its tools and made a call. */
export async function openSessions({
  agents,
  tokens,
  home,
  env,
  tool,
}: SessionsOrder): Promise<AgentSessions> {
  await using opened = new AsyncDisposableStack();
  const pids: number[] = [];
  const left = agents.values();
  const lane = async (): Promise<void> => {
    for (const agent of left) {
      const tokenFile = join(home, `${agent}.token`);
      await writeFile(tokenFile, tokens[agent]!, { mode: 0o600 });
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [command, 'worker', 'mcp'],
        env: { ...env, SIGNALBOX_AGENT: agent, SIGNALBOX_TOKEN_FILE: tokenFile },
        stderr: 'inherit',
      });
      const client = new Client({ name: 'bench', version: '1' });
      await client.connect(transport);
      opened.defer(() => client.close());
      await client.listTools();
      await client.callTool({ name: tool, arguments: {} });
      pids.push(transport.pid!);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const resources = opened.move();
  return { pids, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
