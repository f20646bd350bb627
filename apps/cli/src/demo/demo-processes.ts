import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf, parseTokenFile, SignalboxError } from '@signalbox/protocol';
import { AgentProcess } from './agent-process.ts';
import { type Daemon, runCommand, startDaemon } from './daemon-process.ts';
import { type DemoDatabase, openDemoDatabase } from './demo-database.ts';
import type { DemoPoint } from './demo-points.ts';

/** The agents of the demo and the tools each role may use. */
export const roles = {
  researcher: ['mcp_everything__*', 'mcp_files__read_text_file', 'mcp_files__list_directory'],
  writer: ['mcp_files__*', 'mcp_everything__trigger-long-running-operation'],
};

/** The brokers, the orchestrator and the agents of the demo, each in a process of its own. */
export interface DemoProcesses extends AsyncDisposable {
  /** The folder that the file tools may touch. */
  readonly folder: string;
  /** One broker, or two that share a database. The orchestrator and walt are connected to the first one, and rosa to the last one. */
  readonly brokers: readonly Daemon[];
  readonly orchestrator: Daemon;
  /** With two brokers, the orchestrator of a second host, which has the file tools. */
  readonly secondHost: Daemon | undefined;
  readonly researcher: AgentProcess;
  readonly writer: AgentProcess;
  /** Ends rosa and serves her from then on: her program, a script, is started for a turn when mail arrives. `fails`: it answers nothing. */
  serveResearcher(options: { fails: boolean }): Promise<void>;
  /** Runs a command as the operator, and reads what it printed. */
  asOperator(argv: readonly string[]): Promise<Record<string, unknown>>;
  /** Kills the first broker, or all of them. */
  killBroker(which: 'first' | 'all'): Promise<void>;
  /** Starts the first broker again, on the same address and data. */
  restartBroker(): Promise<void>;
}

/** The options of the demo's processes. */
export interface DemoOptions {
  /** The point that is sabotaged. */
  broken?: DemoPoint | undefined;
  /** Set if two brokers are to share a database: `true` starts one for them, and a text is the address of another one. */
  postgres?: string | boolean | undefined;
  /** Called before the MCP servers are installed, if they are not here. */
  onInstall: () => void;
}

/**
 * Starts brokers, an orchestrator with two real MCP servers (with two brokers, one of them on a second host), and two agents. Stops what it
 * started if one of them fails. Rejects with `usage` if one of these servers is not installed and can't be.
 */
export async function startDemoProcesses({
  broken,
  postgres = false,
  onInstall,
}: DemoOptions): Promise<DemoProcesses> {
  await using started = new AsyncDisposableStack();
  const database =
    postgres === false
      ? undefined
      : started.use(await openDemoDatabase(postgres === true ? undefined : postgres));
  const home = await realpath(await mkdtemp(join(tmpdir(), 'signalbox-demo-')));
  started.defer(() => rm(home, { recursive: true, force: true }));
  const servers =
    findServers([import.meta.url, join(process.cwd(), 'from-here.js')]) ??
    (await installServers(home, onInstall));
  const folder = join(home, 'files');
  await mkdir(folder);
  await writeFile(join(folder, 'notes.txt'), 'the plan is simple\n');
  const config = join(home, 'signalbox.yaml');
  await writeFile(config, JSON.stringify(demoConfig(servers, folder, { broken, database })), { mode: 0o600 });

  const brokers: Daemon[] = [];
  const startBroker = (name: string, listen: string) =>
    startDaemon(['broker', '--config', config, '--data', join(home, name), '--listen', listen]);
  for (const name of database ? ['one', 'two'] : ['one']) {
    const at = brokers.push(await startBroker(name, '127.0.0.1:0')) - 1;
    started.defer(() => brokers[at]!.end('SIGTERM'));
  }
  const addresses = brokers.map(({ ready }) => ready as { url: string; socket?: string });
  const sockets = addresses.map(({ socket }) => socket);
  const url = addresses.map(({ url: tcp, socket }) => socket ?? tcp).join(',');
  const startWriter = await agentOf('walt', 'writer', { home, config, url });
  const startResearcher = await agentOf('rosa', 'researcher', { home, config, url });
  const secondHost = database && (await startSecondHost(servers, folder, { home, config, url }));
  started.defer(async () => secondHost?.end('SIGTERM'));
  const { orchestrator, writer } = await withoutSockets(sockets.slice(1), async () => {
    const daemon = await startDaemon(['orchestrator', '--config', config, '--url', url]);
    started.defer(() => daemon.end('SIGTERM'));
    return { orchestrator: daemon, writer: await startWriter() };
  });
  started.defer(() => writer.stop());
  const researcher = await withoutSockets(sockets.slice(0, -1), startResearcher);
  started.defer(() => researcher.stop());
  let served: Daemon | undefined;
  started.defer(async () => served?.end('SIGTERM'));
  const resources = started.move();
  return {
    folder,
    brokers,
    orchestrator,
    secondHost,
    researcher,
    writer,
    async serveResearcher({ fails }) {
      await researcher.stop();
      const script = fails ? failingTurn : answeringTurn;
      const agent = ['--agent', 'rosa', '--role', 'researcher', '--config', config, '--url', url];
      const program = ['--cwd', folder, '--', process.execPath, '-e', script];
      // Its files of outputs are removed with the demo.
      const env = { XDG_STATE_HOME: join(home, 'state') };
      served = await startDaemon(['worker', 'serve', ...agent, ...program], env);
    },
    asOperator: (argv) => runCommand([...argv, '--config', config]),
    async killBroker(which) {
      for (const broker of which === 'all' ? brokers : brokers.slice(0, 1)) await broker.end('SIGKILL');
    },
    async restartBroker() {
      brokers[0] = await startBroker('one', new URL(addresses[0]!.url).host);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Hides sockets while clients connect that have several addresses, so that they begin with another broker. */
async function withoutSockets<T>(
  sockets: readonly (string | undefined)[],
  connect: () => Promise<T>,
): Promise<T> {
  const paths = sockets.flatMap((socket) => (socket === undefined ? [] : [socket.replace(/^unix:/, '')]));
  const hidden = (path: string): string => `${path}.hidden`;
  for (const path of paths) await rename(path, hidden(path));
  try {
    return await connect();
  } finally {
    for (const path of paths) await rename(hidden(path), path);
  }
}

/** Stands for an agent CLI that takes one turn: it reads the question from standard input, and prints its answer. */
const answeringTurn = `
  const question = require('node:fs').readFileSync(0, 'utf8');
  console.log('I was started for this: ' + question);
`;
const failingTurn = 'process.exit(1)';

function demoConfig(
  servers: ServerScripts,
  folder: string,
  { broken, database }: { broken: DemoPoint | undefined; database: DemoDatabase | undefined },
): object {
  return {
    broker: {
      data: './one',
      ...(database && { store: { postgres: database.url, schema: database.schema } }),
    },
    ...(broken === 'overlap' && { orchestrator: { concurrency: { global: 1 } } }),
    mcpServers: {
      everything: { command: process.execPath, args: [servers.everything] },
      ...(!database && filesServer(servers, folder)),
    },
    ...(database && { hosts: { [secondLabel]: ['files'] } }),
    roles: {
      researcher: { tools: broken === 'manifest' ? ['*'] : roles.researcher },
      writer: { tools: roles.writer },
    },
  };
}

const secondLabel = 'second';

function filesServer(servers: ServerScripts, folder: string): object {
  return { files: { command: process.execPath, args: [servers.filesystem, folder] } };
}

/** Starts the orchestrator of another host: a directory of its own, with its own configuration and token. */
async function startSecondHost(
  servers: ServerScripts,
  folder: string,
  { home, config, url }: { home: string; config: string; url: string },
): Promise<Daemon> {
  const directory = join(home, secondLabel);
  await mkdir(directory);
  const tokenFile = join(directory, 'host.token');
  const own = join(directory, 'signalbox.yaml');
  await writeFile(
    own,
    JSON.stringify({ broker: { data: './state' }, mcpServers: filesServer(servers, folder) }),
  );
  await runCommand(['token', 'issue', '--host', secondLabel, '--out', tokenFile, '--config', config]);
  const where = ['--config', own, '--url', url, '--token-file', tokenFile];
  return await startDaemon(['orchestrator', ...where, '--host', secondLabel]);
}

/** Issues an agent's token, and returns what starts the agent. */
async function agentOf(
  agent: string,
  role: string,
  { home, config, url }: { home: string; config: string; url: string },
): Promise<() => Promise<AgentProcess>> {
  const tokenFile = join(home, `${agent}.token`);
  const issue = ['token', 'issue', '--agent', agent, '--role', role, '--out', tokenFile];
  await runCommand([...issue, '--config', config]);
  const { token } = parseTokenFile(await readFile(tokenFile, 'utf8'))!;
  return () => AgentProcess.start({ url, agent, tokenFile, token });
}

/** The scripts of the MCP servers that the demo hosts. */
interface ServerScripts {
  everything: string;
  filesystem: string;
}

/** The packages of the servers, in the versions that the demo was tried with. */
const packages = {
  everything: '@modelcontextprotocol/server-everything@2026.8.31',
  filesystem: '@modelcontextprotocol/server-filesystem@2026.8.31',
};

/** Finds the servers, which don't come with the command: beside it, as in a checkout, or from the working directory. */
function findServers(from: readonly string[]): ServerScripts | undefined {
  const everything = scriptOf(packages.everything.replace(/@[\d.]+$/, ''), from);
  const filesystem = scriptOf(packages.filesystem.replace(/@[\d.]+$/, ''), from);
  return everything !== undefined && filesystem !== undefined ? { everything, filesystem } : undefined;
}

/** Installs the servers in a folder. Rejects with `usage` if that can't be done. */
async function installServers(home: string, onInstall: () => void): Promise<ServerScripts> {
  onInstall();
  const names = Object.values(packages);
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  try {
    await promisify(execFile)('npm', ['install', '--prefix', home, ...flags, ...names]);
    const found = findServers([join(home, 'from-here.js')]);
    if (found) return found;
    throw new Error('npm has not installed them');
  } catch (thrown) {
    const [reason = ''] = messageOf(thrown).trim().split('\n').slice(-1);
    throw new SignalboxError(
      'usage',
      `the demo hosts two MCP servers that are not installed in ${process.cwd()}, and they could not be installed for it: ${reason}`,
      { details: { hint: `install them here: npm install ${names.join(' ')}` } },
    );
  }
}

/** Finds the script of a package's first command, if the package is installed. */
function scriptOf(name: string, places: readonly string[]): string | undefined {
  for (const from of places) {
    const require = createRequire(from);
    const folder = require.resolve.paths(name)?.find((path) => existsSync(join(path, name, 'package.json')));
    if (folder === undefined) continue;
    const { bin } = require(join(folder, name, 'package.json')) as { bin: Record<string, string> };
    return join(folder, name, Object.values(bin)[0]!);
  }
  return undefined;
}
