import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { ClientSetup } from './agent-clis.ts';

/** A folder in which one client runs once, with an empty home. */
export interface ClientPlace {
  home: string;
  /** The folder that it works in. */
  work: string;
  temporary: string;
  /** Ends the client early. */
  signal: AbortSignal;
}

/** The time in which the servers of a client may end after it, in milliseconds. */
const graceMs = 1_500;
/** The longest time that one client runs, in milliseconds. */
const longestRunMs = 400_000;

export async function makePlace(path: string, signal: AbortSignal): Promise<ClientPlace> {
  const folders = { home: join(path, 'home'), work: join(path, 'work'), temporary: join(path, 'tmp') };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return { ...folders, signal };
}

/** Writes the files of all parts, and joins their arguments and their variables. */
export async function prepare(
  { home, work, temporary }: ClientPlace,
  parts: readonly ClientSetup[],
): Promise<{ args: string[]; env: Record<string, string> }> {
  for (const [file, text] of parts.flatMap(({ files = {} }) => Object.entries(files))) {
    await mkdir(dirname(join(home, file)), { recursive: true });
    await writeFile(join(home, file), text, { mode: 0o600 });
  }
  const { PATH = '' } = process.env;
  const own = { HOME: home, TMPDIR: temporary, PWD: work, PATH, TERM: 'dumb', NO_COLOR: '1' };
  return {
    args: parts.flatMap(({ args = [] }) => args),
    env: Object.assign(own, ...parts.map(({ env = {} }) => env)),
  };
}

/** Runs a program to its end, kills what it leaves in its process group, and returns what it wrote. */
export async function runToEnd(
  argv: readonly string[],
  { work, signal }: ClientPlace,
  env: Record<string, string>,
): Promise<string> {
  signal.throwIfAborted();
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { cwd: work, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const killAll = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // All of them have ended.
    }
  };
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output = `${output}${chunk}`.slice(-65_536);
    });
  const timer = globalThis.setTimeout(killAll, longestRunMs);
  try {
    await once(child, 'exit', { signal });
    await setTimeout(graceMs);
    return output;
  } finally {
    clearTimeout(timer);
    killAll();
  }
}
