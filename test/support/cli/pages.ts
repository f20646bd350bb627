import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { compileCache } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { connectFace, type McpClient } from '../worker/mcp-client.ts';
import { startWorkspace, type Workspace } from './workspace.ts';

export const page = 'ui://app/page.html';
/** Each takes two bytes, so that the page is longer than a message. */
export const letters = 150_000;
const script = fileURLToPath(new URL('../mcp-host/pages-server.ts', import.meta.url));

/** Returns the first content of a resource. */
export const contentOf = async ({ request }: McpClient, uri: string) => {
  const { contents } = await request('resources/read', { uri });
  return (contents as { uri: string; text: string; mimeType?: string; _meta?: object }[])[0]!;
};

/** Starts `up` with two servers that have pages of the same names, and roles that may use some of them. */
export async function startPages(): Promise<Workspace> {
  const server = (env: Record<string, string>) => ({
    command: process.execPath,
    args: [script],
    env: { ...compileCache(), ...env },
  });
  return await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state', limits: { message: { bytes: 262_144 } } },
      mcpServers: { one: server({ NAME: 'one' }), two: server({ NAME: 'two', PAGE_LETTERS: `${letters}` }) },
      roles: {
        developer: { tools: ['*'], resources: ['*:*'] },
        caller: { tools: ['*'] },
        second: { tools: ['two:*'] },
        reader: {
          tools: [],
          resources: ['one:Greeting://*', 'one:slack://c012345/x', 'one:file:///notes/a%20b*'],
        },
        thrifty: { tools: ['two:*'], budget: { calls: 1, perSeconds: 3600 } },
      },
    }),
  );
}

/** Connects an agent's executor, and an MCP client to its face. */
export async function connect(workspace: Workspace, agent: string, role: string) {
  const { env } = await workspace.agent(agent, role);
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const executor = await McpProxyExecutor.connect({ url: env.SIGNALBOX_URL!, token, agent });
  const capabilities = {
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
  };
  const face = await connectFace(executor, { capabilities });
  return {
    ...face,
    executor,
    async [Symbol.asyncDispose]() {
      await face[Symbol.asyncDispose]();
      await executor.close();
    },
  };
}
