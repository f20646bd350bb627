import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** The built command. */
export const command = fileURLToPath(new URL('../../../apps/cli/bin/signalbox.js', import.meta.url));
/** The number of sessions that are opened at a time. */
const lanes = 8;

/** The agents of sessions, and the tool that each calls once. */
export interface SessionsOrder {
  agents: readonly string[];
  tokens: Readonly<Record<string, string>>;
  tool: string;
}

/** Says where the processes of stdio sessions run. */
export interface ProcessPlace {
  /** The directory of the token files. */
  home: string;
  env: Record<string, string>;
}

/** MCP sessions of agents that have listed their tools and made a call. */
export interface ClientSessions extends AsyncDisposable {
  clients: readonly Client[];
}

/** MCP sessions of agents, each over a `signalbox worker mcp` of its own. */
export interface AgentSessions extends AsyncDisposable {
  pids: number[];
}

/** Starts the sessions. Each has listed its tools and made a call. */
export async function openSessions(
  order: SessionsOrder,
  { home, env }: ProcessPlace,
): Promise<AgentSessions> {
  const transports: StdioClientTransport[] = [];
  const sessions = await openAll(order, async (agent) => {
    const tokenFile = join(home, `${agent}.token`);
    await writeFile(tokenFile, order.tokens[agent]!, { mode: 0o600 });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [command, 'worker', 'mcp'],
      env: { ...env, SIGNALBOX_AGENT: agent, SIGNALBOX_TOKEN_FILE: tokenFile },
      stderr: 'inherit',
    });
    transports.push(transport);
    return transport;
  });
  const pids = transports.map(({ pid }) => pid!);
  return { pids, [Symbol.asyncDispose]: () => sessions[Symbol.asyncDispose]() };
}

/** Opens a session for each agent at an HTTP face. Each has listed its tools and made a call. */
export async function openHttpSessions(order: SessionsOrder, url: string): Promise<ClientSessions> {
  return await openAll(order, async (agent) => {
    const headers = { authorization: `Bearer ${order.tokens[agent]!}` };
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  });
}

async function openAll(
  { agents, tool }: SessionsOrder,
  transportOf: (agent: string) => Promise<Transport>,
): Promise<ClientSessions> {
  await using opened = new AsyncDisposableStack();
  const clients: Client[] = [];
  const left = agents.values();
  const lane = async (): Promise<void> => {
    for (const agent of left) {
      const client = new Client({ name: 'bench', version: '1' });
      await client.connect(await transportOf(agent));
      opened.defer(() => client.close());
      clients.push(client);
      await client.listTools();
      await client.callTool({ name: tool, arguments: {} });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const resources = opened.move();
  return { clients, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
