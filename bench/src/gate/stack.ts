import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseTokenFile } from '@signalbox/protocol';
import { binOf } from '../calls/npm-proxies.ts';
import { childrenOf, processorTimes } from '../calls/processor-time.ts';
import { type Child, startProcess } from '../processes.ts';
import { startUp } from '../signalbox-up.ts';
import { unlimitedMessages } from '../unlimited.ts';
import type { GateOperation } from './gate-operations.ts';
import type { LoadOrder, LoadSetup } from './load-process.ts';

/** One bundle as a user runs it, with clients that make load. */
export interface Stack extends AsyncDisposable {
  /** The processes whose time is measured: the supervisor, those that it runs, and those that serve MCP to the clients. */
  readonly pids: readonly number[];
  /**
   * Carries out an operation so often. Resolves with the processor time of one in all these processes, in microseconds. Rejects if one of
   * them has ended, also if another process replaces it.
   */
  run(operation: GateOperation, count: number): Promise<number>;
  /** Empties the inbox that `enqueue` fills. */
  tidy(): Promise<void>;
}

const run = promisify(execFile);
const agents = ['client', 'server', 'sink', 'pile', 'caller'] as const;
const answerTimeoutMs = 60_000;
/** The most calls in flight, and some to spare. */
const calls = 128;

/** The configuration: files, limits out of the way, and the same tool of two servers, one of which must not repeat it. */
function configuration() {
  const everything = { command: process.execPath, args: [binOf('@modelcontextprotocol/server-everything')] };
  return {
    broker: {
      listen: '127.0.0.1:0',
      data: './state',
      durability: 'full',
      limits: unlimitedMessages,
    },
    orchestrator: { concurrency: { global: calls, perServer: calls, perWorker: calls } },
    mcpServers: { safe: everything, unsafe: { ...everything, neverRepeat: ['echo'] } },
    roles: { worker: { tools: ['mcp_safe__echo', 'mcp_unsafe__echo'] } },
  };
}

/**
 * Starts `signalbox up` of the bundle whose command is `command`, in a temporary directory, and a process that makes load on it. With
 * `detached`, Ctrl-C does not reach `signalbox up`: the caller ends it.
 */
export async function openStack(command: string, { detached = false } = {}): Promise<Stack> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-gate-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  await writeFile(join(home, 'signalbox.yaml'), JSON.stringify(configuration()));
  const up = opened.use(await startUp([command], { home, env: environmentOf(home), detached }));
  const tokens = await issueTokens(command, home);
  const face = {
    command: process.execPath,
    args: [command, 'worker', 'mcp'],
    env: { ...environmentOf(home), SIGNALBOX_TOKEN_FILE: join(home, 'caller.token') },
  };
  const setup: LoadSetup = { facts: { url: up.ready.broker.url, ...tokens }, face };
  const load = opened.use(await startProcess(new URL('./load-process.ts', import.meta.url), setup));
  const pids = await ownProcesses(up.pid, load);
  const spentUs = async (): Promise<number> => {
    const now = await ownProcesses(up.pid, load);
    if (now.join() !== pids.join()) {
      throw new Error('a process of the stack has ended, so the processor time that it used is unknown');
    }
    return (await processorTimes([{ name: 'all', pids }])).get('all')!;
  };
  const resources = opened.move();
  return {
    pids,
    run: async (operation, count) => {
      const before = await spentUs();
      await load.ask({ operation, count } satisfies LoadOrder, answerTimeoutMs);
      return ((await spentUs()) - before) / count;
    },
    tidy: () => load.ask('tidy' satisfies LoadOrder, answerTimeoutMs),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function ownProcesses(up: number, load: Child): Promise<number[]> {
  return [up, ...(await childrenOf(up)), ...(await childrenOf(load.pid))];
}

/** Issues a token to each agent with the command of the bundle, to a file named by the agent, and returns them. */
async function issueTokens(command: string, home: string): Promise<Record<string, string>> {
  const issued = agents.map(async (agent) => {
    const file = join(home, `${agent}.token`);
    const args = ['token', 'issue', '--agent', agent, '--role', 'worker', '--out', file, '--data', './state'];
    await run(process.execPath, [command, ...args], { cwd: home, env: environmentOf(home) });
    return [agent, parseTokenFile(await readFile(file, 'utf8'))!.token] as const;
  });
  return Object.fromEntries(await Promise.all(issued));
}

/** Returns an environment without the variables of this shell that name a broker, an agent or options of Node. */
function environmentOf(home: string): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: home, SIGNALBOX_LOG: 'error' };
}
