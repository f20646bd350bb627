import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectBroker } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';

/** The line that `signalbox up --json` prints when it is ready. Without a face for agents over HTTP, `face` has no address. */
export interface UpReady {
  broker: { pid: number; url: string; data: string };
  orchestrator: { pid: number };
  face?: { pid: number; url?: string };
  a2a?: { agents: Record<string, string> };
}

/** A running `signalbox up`. It ends with its children when it is disposed. */
export interface UpProcess extends AsyncDisposable {
  pid: number;
  ready: UpReady;
}

export interface UpOptions {
  /** The directory with `signalbox.yaml`. */
  home: string;
  env: NodeJS.ProcessEnv;
  /** Further options of `signalbox up`. */
  options?: readonly string[];
  /** True if it leads a process group of its own, so that Ctrl-C reaches only the caller, who ends it. */
  detached?: boolean;
}

/** Starts `signalbox up`, and resolves when it is ready. `program` are Node's arguments up to the script of the command. */
export async function startUp(
  program: readonly string[],
  { home, env, options = [], detached = false }: UpOptions,
): Promise<UpProcess> {
  const up = spawn(process.execPath, [...program, 'up', '--config', 'signalbox.yaml', '--json', ...options], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached,
  });
  const exited = once(up, 'exit');
  const end = async (): Promise<void> => {
    up.kill();
    await exited;
  };
  const ended = exited.then(() => Promise.reject(new Error(`'${program.join(' ')} up' ended`)));
  ended.catch(() => {});
  const [line] = await Promise.race([once(createInterface(up.stdout), 'line'), ended]);
  return { pid: up.pid!, ready: JSON.parse(line) as UpReady, [Symbol.asyncDispose]: end };
}

/** Issues a token to each agent, as an operator. Returns them by the names of the agents. */
export async function issueWorkerTokens(
  { broker }: UpReady,
  agents: readonly string[],
  role = 'worker',
): Promise<Record<string, string>> {
  const token = (await readFile(join(broker.data, 'operator.token'), 'utf8')).trim();
  await using operator = await connectBroker({ url: broker.url, token, agent: 'operator' });
  const tokens: Record<string, string> = {};
  for (const agent of agents) {
    tokens[agent] = (await issueToken(operator, { agent, role })).token;
  }
  return tokens;
}
