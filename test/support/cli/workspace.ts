import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { compileCache, tempDir } from '@signalbox/testing';
import { type Daemon, type Run, signalbox, startDaemon } from './command-line.ts';

const require = createRequire(import.meta.url);

/** Returns the script of an installed MCP server package. */
export function serverScript(name: string): string {
  return join(dirname(require.resolve(`${name}/package.json`)), 'dist', 'index.js');
}

/**
 * Returns a configuration with a real MCP server, a role that may use its echo, a port that the system chooses, and the given additions.
 */
function configText(servers: object = {}, tools: readonly string[] = []): string {
  const everything = {
    command: process.execPath,
    args: [serverScript('@modelcontextprotocol/server-everything')],
    env: compileCache(),
  };
  return JSON.stringify({
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: { everything, ...servers },
    roles: {
      researcher: { tools: ['mcp_everything__echo', ...tools] },
      sandbox: { tools: [] },
    },
  });
}

/** Returns a configuration with one real MCP server. */
export function everythingText(): string {
  return configText();
}

/**
 * Returns a configuration with a second MCP server, which reads a directory, and with two roles more: `clerk` has a rule of each kind, and
 * some calls of `asker` wait for a person.
 */
function twoServersText(filesDirectory: string): string {
  const files = {
    command: process.execPath,
    args: [serverScript('@modelcontextprotocol/server-filesystem'), filesDirectory],
    env: compileCache(),
    neverRepeat: ['read_media_file'],
  };
  const { roles, ...config } = JSON.parse(configText({ files }, ['mcp_files__read_*']));
  const clerk = {
    tools: ['mcp_files__read_*', 'mcp_everything__echo'],
    prompts: ['everything:simple-*', 'everything:completable-*'],
    resources: ['everything:demo://resource/*'],
    mailbox: ['signalbox_inbox_read'],
    results: { maxInlineBytes: 8192 },
    budget: { calls: 2, perSeconds: 3600 },
    ask: [{ tool: 'files:read_multiple_files', when: { paths: `${filesDirectory}/secret/**` } }],
  };
  const asker = { tools: ['files:read_*'], ask: clerk.ask };
  return JSON.stringify({ ...config, roles: { ...roles, clerk, asker } });
}

/** `signalbox up` on a directory of its own, and the ways to use it. */
export interface Workspace extends AsyncDisposable {
  readonly directory: string;
  readonly up: Daemon;
  readonly ready: {
    broker: UpPart & { url: string; socket?: string };
    orchestrator: UpPart & { servers: unknown; roles: unknown; warnings: string[] };
    face?: UpPart & { socket: string; url?: string };
  };
  /** Issues a token into a file and returns the environment that makes a command that agent's. */
  agent(agent: string, role: string): Promise<{ id: string; env: Record<string, string> }>;
  /** Connects as the operator, for waits and facts that no command is tried with: each command is a process. */
  operator(): Promise<BrokerClient>;
  run(args: readonly string[], env?: Record<string, string>): Promise<Run>;
}

interface UpPart {
  pid: number;
}

/**
 * Starts `up`, without a face unless `face` asks for one. `config` makes the text of the configuration instead, after it wrote what else it
 * needs.
 */
export async function startWorkspace(
  config?: (directory: string) => string | Promise<string>,
  { face = false, env = {} }: { face?: boolean; env?: Record<string, string> } = {},
): Promise<Workspace> {
  await using opened = new AsyncDisposableStack();
  const { path: directory } = opened.use(await tempDir());
  const files = join(directory, 'files');
  await mkdir(files);
  await writeFile(join(files, 'hello.txt'), 'hello from a file\n');
  await writeFile(join(directory, 'signalbox.yaml'), (await config?.(directory)) ?? twoServersText(files));
  const argv = ['up', '--config', 'signalbox.yaml', ...(face ? [] : ['--no-face'])];
  const up = opened.use(await startDaemon(argv, { cwd: directory, env }));
  const ready = up.ready as Workspace['ready'];
  const run = (args: readonly string[], own: Record<string, string> = {}): Promise<Run> =>
    signalbox(args, { cwd: directory, env: own });
  const { url } = ready.broker;
  const operator = async (): Promise<BrokerClient> => {
    const token = (await readFile(join(directory, 'state', 'operator.token'), 'utf8')).trim();
    return await connectBroker({ url, token, agent: requestAddress('operator') });
  };
  const resources = opened.move();
  return {
    directory,
    up,
    ready,
    run,
    operator,
    async agent(agent, role) {
      const file = join(directory, `${agent}.token`);
      await using client = await operator();
      const { id, token } = await issueToken(client, { agent, role });
      await writeFile(file, `${token}\n`, { mode: 0o600 });
      return { id, env: { SIGNALBOX_TOKEN_FILE: file, SIGNALBOX_URL: url } };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
