import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { brokerFiles } from '@signalbox/broker';
import { unlessAborted } from '../abortable.ts';
import { temporaryDirectory } from './data-directory.ts';
import { fill } from './fill.ts';
import type { CostKind, GrowthOptions, Ladder } from './growth-report.ts';
import { Samples } from './samples.ts';

const command = fileURLToPath(new URL('../../../apps/cli/bin/signalbox.js', import.meta.url));
const leastStarts = 7;
/** The messages take a little over 1 GB on disk. */
const large = { inboxes: 100, each: 7800, bodyBytes: 1024 };

const kinds = {
  readyMs: { name: '`signalbox broker`: ready', unit: 'ms', target: { atMost: [300, 1000] } },
  helpMs: { name: '`signalbox --help`', unit: 'ms', target: { atMost: [150, null] } },
  nodeMs: { name: 'Node.js alone, for comparison', unit: 'ms' },
} as const satisfies Record<string, CostKind>;

/** Measures the time that the built command takes to start. */
export async function measureStart({ rounds, signal, tell }: GrowthOptions): Promise<Ladder> {
  await using home = await temporaryDirectory('start');
  tell('growth: filling a database of 1 GB');
  const dirs = [join(home.path, 'empty'), join(home.path, 'large')];
  await mkdir(dirs[0]!, { mode: 0o700 });
  await fill({ type: 'pending', dataDir: dirs[1]!, ...large }, signal);
  const { size } = await stat(brokerFiles(dirs[1]!).messages);
  const samples = new Samples<keyof typeof kinds>(dirs.length, kinds);
  // The first starts also fill the compile cache, and make the files of the empty broker.
  for (let round = 0; round <= Math.max(rounds, leastStarts); round++) {
    for (const [at, dir] of dirs.entries()) {
      const ms = await brokerStart(dir, { home: home.path, signal });
      if (round > 0) samples.add('readyMs', at, ms);
    }
    const helpMs = await timeToEnd(() => signalbox(['--help'], home.path), signal);
    const nodeMs = await timeToEnd(() => node(['-e', '0'], home.path), signal);
    if (round === 0) continue;
    samples.add('helpMs', 0, helpMs);
    samples.add('nodeMs', 0, nodeMs);
  }
  tell('growth: starts measured');
  return {
    name: 'start',
    sizes: [
      { size: 0, label: 'empty' },
      { size, label: `${(size / 1e9).toFixed(2)} GB` },
    ],
    costs: samples.costs(),
    notes: [],
  };
}

interface CommandDeps {
  /** The directory where the command may keep compiled code. */
  home: string;
  signal: AbortSignal;
}

type Command = ChildProcessByStdio<null, Readable, null>;

/** Returns the milliseconds from the spawn to the line that reports readiness, and stops the broker then. */
async function brokerStart(dataDir: string, { home, signal }: CommandDeps): Promise<number> {
  const began = performance.now();
  const child = signalbox(['broker', '--json', '--listen', '127.0.0.1:0', '--data', dataDir], home);
  const ended = once(child, 'close');
  try {
    const failed = ended.then(() => Promise.reject(new Error('the broker ended at its start')));
    failed.catch(() => {});
    await unlessAborted(signal, () => Promise.race([once(child.stdout, 'data'), failed]));
    return performance.now() - began;
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function timeToEnd(start: () => Command, signal: AbortSignal): Promise<number> {
  const began = performance.now();
  const child = start();
  child.stdout.resume();
  const [code] = await unlessAborted(signal, () => once(child, 'close'));
  if (code !== 0) throw new Error(`a command ended with exit code ${code}`);
  return performance.now() - began;
}

function signalbox(args: string[], home: string): Command {
  return node([command, ...args], home);
}

function node(args: string[], home: string): Command {
  return spawn(process.execPath, args, {
    cwd: home,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, XDG_CACHE_HOME: join(home, 'cache'), SIGNALBOX_LOG: 'silent' },
  });
}
