import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { connectWire, tempDir, type WireClient } from '@signalbox/testing';
import { readTrace, type SystemCall } from './system-calls.ts';

/** True where `strace` is installed and may trace. */
export function canTrace(): boolean {
  return spawnSync('strace', ['-f', '-e', 'trace=fdatasync', '-o', '/dev/null', 'true']).status === 0;
}

/** A broker whose system calls are written down. */
export interface TracedBroker extends AsyncDisposable {
  readonly operator: WireClient;
  /** Stops the broker and reads what it did. */
  trace(): Promise<SystemCall[]>;
}

const calls = 'trace=fsync,fdatasync,pwrite64,pwritev,pwritev2,read,write,writev,sendto,sendmsg';

export async function startTracedBroker(durability: 'full' | 'process'): Promise<TracedBroker> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const file = `${directory.path}/trace`;
  const main = fileURLToPath(new URL('../abuse/broker-main.ts', import.meta.url));
  const options = JSON.stringify({ dataDir: `${directory.path}/data`, durability });
  const child = spawn(
    'strace',
    ['-f', '-y', '-s', '200', '-e', calls, '-o', file].concat(
      process.execPath,
      '--conditions=@signalbox/source',
      main,
      options,
    ),
    { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
  );
  starting.defer(() => end(child));
  const [line] = await once(child.stdout!, 'data');
  const { url, operatorTokenFile } = JSON.parse(String(line));
  const token = (await readFile(operatorTokenFile, 'utf8')).trim();
  const operator = starting.use(await connectWire(url, { agent: 'operator', token }));
  const opened = starting.move();
  return {
    operator,
    async trace() {
      await end(child);
      return readTrace(await readFile(file, 'utf8'));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Ends the tracer and the broker, which are a process group of their own. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid!, 'SIGTERM');
  await exited;
}
