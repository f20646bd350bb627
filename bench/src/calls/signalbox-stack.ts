import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { issueWorkerTokens, startUp } from '../signalbox-up.ts';
import { unlimitedMessages } from '../unlimited.ts';

/** A running `signalbox up`, with a face for its agents. */
export interface SignalboxStack extends AsyncDisposable {
  /** The JavaScript file of the command. */
  command: string;
  url: string;
  /** The agent of the worker library: one agent has few lanes. */
  executor: { agent: string; token: string };
  /** The environment of a worker whose agent is `client`. It has a face of its own. */
  env: Record<string, string>;
  /** The same for one that uses the face of `up`. */
  shimEnv: Record<string, string>;
  /** The address of the face for agents over HTTP. */
  faceUrl: string;
  /** The tokens of other workers. */
  workerTokens: string[];
  pids: { face: number; broker: number; orchestrator: number };
}

const run = promisify(execFile);
/** The most calls in flight. */
const calls = 128;

/** Starts `signalbox up` with a file as `signalbox init` writes it, which has the same MCP server twice: safe to repeat, and not. */
export async function startSignalbox(
  command: string,
  server: string,
  workers: number,
): Promise<SignalboxStack> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-calls-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH ?? '', HOME: home, SIGNALBOX_LOG: 'error' };
  await run(process.execPath, [command, 'init', '--no-import'], { cwd: home, env });
  const everything = { command: process.execPath, args: [server] };
  const added = {
    broker: { listen: '127.0.0.1:0', data: './state', limits: unlimitedMessages },
    orchestrator: { concurrency: { global: calls, perServer: calls, perWorker: calls } },
    worker: { http: '127.0.0.1:0' },
    mcpServers: { everything, journaled: { ...everything, neverRepeat: ['*'] } },
  };
  const file = join(home, 'signalbox.yaml');
  await writeFile(file, withKeys(await readFile(file, 'utf8'), added));
  const { ready } = opened.use(await startUp([command], { home, env }));
  const { broker, orchestrator, face } = ready;
  const names = Array.from({ length: workers }, (_, at) => `worker-${at}`);
  const tokens = await issueWorkerTokens(ready, ['client', 'executor', ...names], 'developer');
  const tokenFile = join(home, 'client.token');
  await writeFile(tokenFile, tokens.client!, { mode: 0o600 });
  const { url } = broker;
  const workerEnv = {
    ...env,
    SIGNALBOX_URL: url,
    SIGNALBOX_AGENT: 'client',
    SIGNALBOX_TOKEN_FILE: tokenFile,
  };
  const resources = opened.move();
  return {
    ...{ command, url, env: workerEnv },
    executor: { agent: 'executor', token: tokens.executor! },
    shimEnv: { ...workerEnv, SIGNALBOX_FACE: join(home, 'state', 'face.sock') },
    faceUrl: face!.url!,
    workerTokens: names.map((name) => tokens[name]!),
    pids: { face: face!.pid, broker: broker.pid, orchestrator: orchestrator.pid },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Adds keys to the sections of a `signalbox.yaml`. A section that the file does not have yet is added. */
function withKeys(text: string, added: Record<string, object>): string {
  const names = new Set(text.match(/^\w+(?=:$)/gm));
  const inserted = text.replace(/^(\w+):$/gm, (line, name: string) => line + linesOf(added[name] ?? {}));
  const others = Object.entries(added).filter(([name]) => !names.has(name));
  return inserted + others.map(([name, keys]) => `${name}:${linesOf(keys)}\n`).join('');
}

function linesOf(keys: object): string {
  return Object.entries(keys)
    .map(([name, value]) => `\n  ${name}: ${JSON.stringify(value)}`)
    .join('');
}
