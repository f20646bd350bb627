import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startProcess } from './processes.ts';
import type { Series } from './series.ts';

const require = createRequire(import.meta.url);

/** `tools/call` of the everything server's echo: direct, through a naive SDK proxy, and through Signalbox. */
export async function callSeries(): Promise<AsyncDisposable & { series: Series[] }> {
  await using opened = new AsyncDisposableStack();
  const server = everythingServer();
  const naive = fileURLToPath(new URL('./naive-proxy.ts', import.meta.url));
  const ours = opened.use(await startSignalbox(server));
  const connect = async (
    command: string,
    args: string[],
    env: Record<string, string> = {},
  ): Promise<Client> => {
    const client = new Client({ name: 'bench', version: '1.0.0' });
    await client.connect(
      new StdioClientTransport({ command, args, env: { ...plainEnvironment(), ...env }, stderr: 'inherit' }),
    );
    opened.defer(() => client.close());
    return client;
  };
  const clients = [
    { name: 'direct SDK client', tool: 'echo', client: await connect(process.execPath, [server]) },
    {
      name: 'naive SDK proxy',
      tool: 'echo',
      client: await connect(process.execPath, [naive, process.execPath, server]),
    },
    {
      name: 'Signalbox',
      tool: 'mcp_everything__echo',
      client: await connect(process.execPath, [cli(), 'worker', 'mcp'], ours.env),
    },
  ];
  const series = clients.flatMap(({ name, tool, client }) =>
    [1, 64].map((inFlight) => ({
      name: `tools/call, ${name}, ${inFlight} in flight`,
      inFlight,
      operation: async (n: number) => {
        const result = await client.callTool({ name: tool, arguments: { message: `${n}` } });
        const [block] = result.content as { text?: string }[];
        if (!block?.text?.includes(`${n}`)) throw new Error(`call ${n} got the wrong answer`);
      },
    })),
  );
  const resources = opened.move();
  return { series, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function startSignalbox(server: string): Promise<AsyncDisposable & { env: Record<string, string> }> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const broker = opened.use(
    await startProcess('./broker-process.ts', { dataDir: join(home, 'state'), durability: 'full' }),
  );
  const { url, orchestrator, client } = broker.facts as Record<string, string>;
  opened.use(await startProcess('./orchestrator-process.ts', { url, token: orchestrator, server }));
  const tokenFile = join(home, 'client.token');
  await writeFile(tokenFile, client!, { mode: 0o600 });
  const resources = opened.move();
  return {
    env: { SIGNALBOX_URL: url!, SIGNALBOX_AGENT: 'client', SIGNALBOX_TOKEN_FILE: tokenFile },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function cli(): string {
  return fileURLToPath(new URL('../../apps/cli/bin/signalbox.js', import.meta.url));
}

function everythingServer(): string {
  const manifest = require.resolve('@modelcontextprotocol/server-everything/package.json');
  const { bin } = require(manifest) as { bin: Record<string, string> };
  return join(dirname(manifest), Object.values(bin)[0]!);
}

function plainEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
}
