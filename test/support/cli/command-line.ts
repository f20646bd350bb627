import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Run, runWarm } from './warm-process.ts';

const program = fileURLToPath(new URL('../../../apps/cli/bin/signalbox.js', import.meta.url));

export type { Run };

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
}

/** A command that ends soon takes a quarter less processor time if its young generation need not grow. */
const shortRun = ['--min-semi-space-size=16'];
/** These hand Node's options on to the processes that they start, or print them. */
const startsOthers = new Set(['demo', 'up', 'worker']);
/** Commands that run for long, or that main.ts runs by itself. */
const ownProcess = new Set([
  ...startsOthers,
  'a2a',
  'broker',
  'orchestrator',
  'complete-names',
  'mail-hook',
  'wake-hook',
]);

/**
 * Runs `signalbox` to its end, in a process that has run others. It has a process of its own if `EACH_COMMAND_A_PROCESS` is set, as in
 * `npm run test:long`, if it runs for long, if it has an input or options of Node, or while that process is busy.
 */
export async function signalbox(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { cwd = process.cwd(), env, input } = options;
  const isOwn = input !== undefined || env?.NODE_OPTIONS !== undefined || ownProcess.has(args[0] ?? '');
  if (!isOwn && !process.env.EACH_COMMAND_A_PROCESS) {
    const run = runWarm({ args, cwd, env: cleanEnv(env) }, shortRun);
    if (run) return await run;
  }
  const child = launch(args, options, startsOthers.has(args[0] ?? '') ? [] : shortRun);
  child.stdin?.end(input ?? '');
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Returns the JSON that a run printed. */
export function jsonOf(run: Run): unknown {
  try {
    return checkedKeys(JSON.parse(run.stdout));
  } catch (cause) {
    throw new Error(`not our JSON (exit ${run.code}): ${run.stdout}\n${run.stderr}`, { cause });
  }
}

/** The keys below which others named things: definitions, results and arguments of tools, bodies of messages, files of clients. */
const foreign =
  /^(tools|resources|resource_templates|prompts|result|arguments|args|body|reply|text|files|workspace|env)$/;

/** Returns what a command printed, if each key of ours is in snake_case. */
export function checkedKeys<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && !/^[a-z\d]+(_[a-z\d]+)*$/.test(key)) throw new Error(`a key is '${key}'`);
    if (!foreign.test(key)) checkedKeys(inner);
  }
  return value;
}

/** A running `signalbox`: its first line of JSON, and its end. Disposing it stops it and waits. */
export interface Daemon extends AsyncDisposable {
  readonly pid: number;
  readonly ready: unknown;
  readonly stderr: () => string;
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `signalbox … --json` and resolves when it has printed that it is ready. */
export async function startDaemon(args: readonly string[], options: RunOptions = {}): Promise<Daemon> {
  const child = launch([...args, '--json'], options);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const ended = once(child, 'close') as Promise<[number | null]>;
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => stdout().includes('\n') && resolve());
    void ended.then(() => reject(new Error(`ended before it was ready: ${stdout()}${stderr()}`)));
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return (await ended)[0];
  };
  const dispose = async (): Promise<void> => {
    await stop();
  };
  const ready: unknown = checkedKeys(JSON.parse(stdout().split('\n', 1)[0]!));
  if (typeof ready === 'object' && ready !== null && 'error' in ready) {
    await ended;
    throw new Error(`refused to start: ${stdout()}${stderr()}`);
  }
  return {
    pid: child.pid!,
    ready,
    stderr,
    ended: ended.then(([code]) => code),
    stop,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Returns Node's arguments that run `signalbox`, for a test that starts it itself. */
export function signalboxArgv(args: readonly string[]): string[] {
  return [program, ...args];
}

/** Returns the environment without the variables that name an identity or a place of data. */
export function cleanEnv(extra: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !name.startsWith('SIGNALBOX_') && !name.startsWith('VITEST'),
  ) as [string, string][];
  return { ...Object.fromEntries(kept), NODE_OPTIONS: '', ...extra };
}

function launch(
  args: readonly string[],
  { cwd, env }: RunOptions,
  nodeOptions: readonly string[] = [],
): ChildProcess {
  return spawn(process.execPath, [...nodeOptions, ...signalboxArgv(args)], {
    ...(cwd !== undefined && { cwd }),
    env: cleanEnv({ ...(args[0] === 'up' && ownCompileCache()), ...env }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** Lets `up` choose its folder for compiled code as for users: its processes have several sets of options, under each of which code counts. */
function ownCompileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: '', XDG_CACHE_HOME: folder };
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
