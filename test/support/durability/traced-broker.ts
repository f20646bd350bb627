import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connectWire, tempDir, type WireClient } from '@signalbox/testing';
import { cleanEnv, signalboxArgv } from '../cli/command-line.ts';
import { readTrace, type SystemCall } from './system-calls.ts';

/** True where `strace` is installed and may trace. */
export function canTrace(): boolean {
  return spawnSync('strace', ['-f', '-e', 'trace=fdatasync', '-o', '/dev/null', 'true']).status === 0;
}

/** A broker whose system calls are written down. */
export interface TracedBroker extends AsyncDisposable {
  readonly url: string;
  readonly operator: WireClient;
  /** Resolves when the command has ended by itself, with its standard error and its exit code. */
  readonly ended: Promise<{ code: number | null; stderr: string }>;
  /** Stops the broker and reads its system calls. */
  trace(): Promise<SystemCall[]>;
}

const calls = 'trace=fsync,fdatasync,pwrite64,pwritev,pwritev2,read,write,writev,sendto,sendmsg';

export interface TraceOptions {
  durability?: 'full' | 'process';
  /** The data directory. Without it the broker has one that is removed with it. */
  dataDir?: string;
  /** The number of the first sync of the log by the thread pool that fails, as on a broken disk. All later ones fail, too. */
  failingSync?: number;
}

/** Runs `signalbox broker` under strace. */
export async function startTracedBroker(options: TraceOptions = {}): Promise<TracedBroker> {
  const { durability = 'full', failingSync } = options;
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const file = `${directory.path}/trace`;
  const dataDir = options.dataDir ?? `${directory.path}/data`;
  const broker = [
    'broker',
    '--listen',
    '127.0.0.1:0',
    '--data',
    dataDir,
    '--durability',
    durability,
    '--json',
  ];
  const injection =
    failingSync === undefined ? [] : ['-e', `inject=fdatasync:error=EIO:when=${failingSync}+`];
  const child = spawn(
    'strace',
    ['-f', '-y', '-s', '200', '-e', calls, ...injection, '-o', file].concat(
      process.execPath,
      signalboxArgv(broker),
    ),
    // The tracer counts the calls of each thread by itself.
    { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: cleanEnv({ UV_THREADPOOL_SIZE: '1' }) },
  );
  starting.defer(() => end(child));
  const stderr = text(child.stderr!);
  const ended = Promise.all([once(child, 'exit'), stderr]).then(([[code], said]) => ({ code, stderr: said }));
  const [line] = await once(child.stdout!, 'data');
  const { url, operator_token_file: operatorTokenFile } = JSON.parse(String(line));
  const token = (await readFile(operatorTokenFile, 'utf8')).trim();
  const operator = starting.use(await connectWire(url, { agent: 'operator', token }));
  const opened = starting.move();
  return {
    url,
    operator,
    ended,
    async trace() {
      await end(child);
      return readTrace(await readFile(file, 'utf8'));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Runs `signalbox up` on the `signalbox.yaml` of a directory under strace until it is ready, and stops it. Reads how it wrote files. */
export async function traceUp(directory: string): Promise<SystemCall[]> {
  const file = join(directory, 'trace');
  const up = signalboxArgv(['up', '--config', 'signalbox.yaml', '--no-face', '--json']);
  const child = spawn(
    'strace',
    ['-f', '-y', '-s', '4096', '-e', 'trace=openat,fsync,/^rename', '-o', file, process.execPath, ...up],
    { stdio: ['ignore', 'pipe', 'ignore'], detached: true, cwd: directory, env: cleanEnv() },
  );
  await using _running = { [Symbol.asyncDispose]: () => end(child) };
  const [line] = await once(child.stdout!, 'data');
  JSON.parse(String(line));
  await end(child);
  return readTrace(await readFile(file, 'utf8'));
}

/** Ends the tracer and the broker, which are a process group of their own. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid!, 'SIGTERM');
  await exited;
}
