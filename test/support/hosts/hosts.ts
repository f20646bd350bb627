import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { BrokerClient } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { hostAgent, hostRole } from '@signalbox/protocol';
import { compileCache } from '@signalbox/testing';
import { expect } from 'vitest';
import { cleanEnv, type Daemon, signalboxArgv, startDaemon } from '../cli/command-line.ts';
import { serverScript, startWorkspace, type Workspace } from '../cli/workspace.ts';

/** The entry of a real MCP server with an echo and other tools. */
export const everything = {
  command: process.execPath,
  args: [serverScript('@modelcontextprotocol/server-everything')],
  env: compileCache(),
};

/** A workspace as one machine, and orchestrators with labels in directories of their own, as other machines. */
export interface Site extends AsyncDisposable {
  readonly hub: Workspace;
  readonly operator: BrokerClient;
  /** Starts the orchestrator of a label in its own directory, with these servers in its own file. */
  host(label: string, servers: object, options?: { token?: string; more?: object }): Promise<Daemon>;
  /** Ends the orchestrator of a label that was started last. */
  stopHost(label: string, signal?: NodeJS.Signals): Promise<unknown>;
  /** Connects the client of the MCP SDK to a worker of an agent. */
  client(agent: string, role: string, prepare?: (client: Client) => void): Promise<Client>;
}

/** Starts `up` with this configuration, besides its broker. */
export async function startSite(config: object): Promise<Site> {
  await using opened = new AsyncDisposableStack();
  const broker = { listen: '127.0.0.1:0', data: './state' };
  const hub = opened.use(await startWorkspace(() => JSON.stringify({ broker, ...config })));
  const operator = opened.use(await hub.operator());
  const resources = opened.move();
  const hosts = new Map<string, Daemon>();
  const token = async (label: string): Promise<string> => {
    const file = join(hub.directory, `${label}.host.token`);
    const issued = await issueToken(operator, { agent: hostAgent(label), role: hostRole });
    await writeFile(file, `${issued.token}\n`, { mode: 0o600 });
    return file;
  };
  return {
    hub,
    operator,
    async host(label, servers, { token: given, more = {} } = {}) {
      const directory = join(hub.directory, `machine-${label}`);
      await mkdir(directory, { recursive: true });
      const text = JSON.stringify({ broker: { data: './own-state' }, mcpServers: servers, ...more });
      await writeFile(join(directory, 'signalbox.yaml'), text);
      const args = ['orchestrator', '--config', 'signalbox.yaml', '--url', hub.ready.broker.url];
      const named = ['--token-file', given ?? (await token(label)), '--host', label];
      const host = resources.use(await startDaemon([...args, ...named], { cwd: directory }));
      hosts.set(label, host);
      return host;
    },
    stopHost: async (label, signal) => await hosts.get(label)?.stop(signal),
    async client(agent, role, prepare) {
      const { env } = await hub.agent(agent, role);
      const capabilities = prepare ? { elicitation: {} } : {};
      const client = new Client({ name: 'agent', version: '1.0.0' }, { capabilities });
      prepare?.(client);
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: signalboxArgv(['worker', 'mcp']),
        stderr: 'ignore',
        env: cleanEnv(env),
      });
      await client.connect(transport);
      resources.defer(() => client.close());
      return client;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Resolves with the names of the tools, when one of them is listed. */
export async function listed(of: Client, name: string): Promise<string[]> {
  const names = async () => (await of.listTools()).tools.map((tool) => tool.name);
  await expect.poll(names, { timeout: 30_000 }).toContain(name);
  return await names();
}
