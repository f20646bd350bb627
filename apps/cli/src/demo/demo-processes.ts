import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTokenFile, SignalboxError } from '@signalbox/protocol';
import { AgentProcess } from './agent-process.ts';
import { type Daemon, runCommand, startDaemon } from './daemon-process.ts';
import type { DemoPoint } from './demo-points.ts';

/** The agents of the demo and the tools each role may use. */
export const roles = {
  researcher: ['mcp_everything__*', 'mcp_files__read_text_file', 'mcp_files__list_directory'],
  writer: ['mcp_files__*', 'mcp_everything__trigger-long-running-operation'],
};

/** The broker, the orchestrator and the agents of the demo, each in a process of its own. */
export interface DemoProcesses extends AsyncDisposable {
  /** The folder that the file tools may touch. */
  readonly folder: string;
  readonly broker: Daemon;
  readonly orchestrator: Daemon;
  readonly researcher: AgentProcess;
  readonly writer: AgentProcess;
  /** Ends rosa and serves her from then on: her program, a script, is started for a turn when mail arrives. `fails`: it answers nothing. */
  serveResearcher(options: { fails: boolean }): Promise<void>;
  /** Runs a command as the operator, and reads what it printed. */
  asOperator(argv: readonly string[]): Promise<Record<string, unknown>>;
  /** Kills the broker and starts another on the same address and data. */
  replaceBroker(options: { restart: boolean }): Promise<void>;
}

/**
 * Starts broker, orchestrator with two real MCP servers, and two agents. Stops what it started if one of them fails. Rejects with
 * `usage` if one of these servers is not installed.
 */
export async function startDemoProcesses(broken: DemoPoint | undefined): Promise<DemoProcesses> {
  const servers = findServers();
  await using started = new AsyncDisposableStack();
  const home = await realpath(await mkdtemp(join(tmpdir(), 'signalbox-demo-')));
  started.defer(() => rm(home, { recursive: true, force: true }));
  const folder = join(home, 'files');
  await mkdir(folder);
  await writeFile(join(folder, 'notes.txt'), 'the plan is simple\n');
  const config = join(home, 'signalbox.yaml');
  await writeFile(config, JSON.stringify(demoConfig(servers, folder, broken)));

  let broker = await startDaemon(['broker', '--config', config, '--listen', '127.0.0.1:0']);
  started.defer(() => broker.end('SIGTERM'));
  const { url: tcp, socket } = broker.ready as { url: string; socket?: string };
  const url = socket ?? tcp;
  const orchestrator = await startDaemon(['orchestrator', '--config', config]);
  started.defer(() => orchestrator.end('SIGTERM'));
  const joinAs = (agent: string, role: string) => joinAgent({ home, config, url, agent, role });
  const [researcher, writer] = await Promise.all([joinAs('rosa', 'researcher'), joinAs('walt', 'writer')]);
  started.defer(() => Promise.all([researcher.stop(), writer.stop()]).then(() => {}));
  let served: Daemon | undefined;
  started.defer(async () => served?.end('SIGTERM'));
  const resources = started.move();
  return {
    folder,
    get broker() {
      return broker;
    },
    orchestrator,
    researcher,
    writer,
    async serveResearcher({ fails }) {
      await researcher.stop();
      const script = fails ? failingTurn : answeringTurn;
      served = await startDaemon([
        ...[
          'worker',
          'serve',
          '--agent',
          'rosa',
          '--role',
          'researcher',
          '--config',
          config,
          '--cwd',
          folder,
        ],
        ...['--', process.execPath, '-e', script],
      ]);
    },
    asOperator: (argv) => runCommand([...argv, '--config', config]),
    async replaceBroker({ restart }) {
      await broker.end('SIGKILL');
      if (restart) broker = await startDaemon(['broker', '--config', config, '--listen', new URL(tcp).host]);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Stands for an agent CLI that takes one turn: it reads the question from standard input, and prints its answer. */
const answeringTurn = `
  const question = require('node:fs').readFileSync(0, 'utf8');
  console.log('I was started for this: ' + question);
`;
const failingTurn = 'process.exit(1)';

function demoConfig(servers: ServerScripts, folder: string, broken: DemoPoint | undefined): object {
  return {
    broker: { data: './state' },
    ...(broken === 'overlap' && { orchestrator: { concurrency: { global: 1 } } }),
    mcpServers: {
      everything: { command: process.execPath, args: [servers.everything] },
      files: { command: process.execPath, args: [servers.filesystem, folder] },
    },
    roles: {
      researcher: { tools: broken === 'manifest' ? ['*'] : roles.researcher },
      writer: { tools: roles.writer },
    },
  };
}

async function joinAgent(who: {
  home: string;
  config: string;
  url: string;
  agent: string;
  role: string;
}): Promise<AgentProcess> {
  const { home, config, url, agent, role } = who;
  const tokenFile = join(home, `${agent}.token`);
  await runCommand([
    'token',
    'issue',
    '--agent',
    agent,
    '--role',
    role,
    '--out',
    tokenFile,
    '--config',
    config,
  ]);
  const { token } = parseTokenFile(await readFile(tokenFile, 'utf8'))!;
  return AgentProcess.start({ url, agent, tokenFile, token });
}

/** The scripts of the MCP servers that the demo hosts. */
interface ServerScripts {
  everything: string;
  filesystem: string;
}

/** Finds the servers, which don't come with the command: beside it, as in a checkout, or from the working directory. */
function findServers(): ServerScripts {
  const everything = scriptOf('@modelcontextprotocol/server-everything');
  const filesystem = scriptOf('@modelcontextprotocol/server-filesystem');
  if (everything !== undefined && filesystem !== undefined) return { everything, filesystem };
  throw new SignalboxError(
    'usage',
    `the demo hosts two MCP servers that are not installed in ${process.cwd()}; install them there: ` +
      'npm install @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem',
  );
}

/** Finds the script of a package's first command, if the package is installed. */
function scriptOf(name: string): string | undefined {
  for (const from of [import.meta.url, join(process.cwd(), 'from-here.js')]) {
    const require = createRequire(from);
    const folder = require.resolve.paths(name)?.find((path) => existsSync(join(path, name, 'package.json')));
    if (folder === undefined) continue;
    const { bin } = require(join(folder, name, 'package.json')) as { bin: Record<string, string> };
    return join(folder, name, Object.values(bin)[0]!);
  }
  return undefined;
}
