import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { promisify } from 'node:util';
import type { Child, ChildEnd } from '@signalbox/testing';
import { cleanEnv, signalboxArgv } from '../../support/cli/command-line.ts';

const run = promisify(execFile);

/** A machine of its own, as far as the network goes: a network namespace with a wire to this one. */
export interface Machine extends AsyncDisposable {
  /** The words before a command that runs it there; none on this machine. */
  readonly prefix: readonly string[];
  /** The address of this machine on the wire. */
  readonly hub: string;
  /** Pulls the plug, or puts it back. */
  plug(isIn: boolean): Promise<void>;
}

/** Returns true if this process may make network namespaces. */
export async function mayPartition(): Promise<boolean> {
  const name = `sbx${process.pid}t`;
  try {
    await run('ip', ['netns', 'add', name]);
    await run('ip', ['netns', 'del', name]);
    return true;
  } catch {
    return false;
  }
}

/** Makes a machine; `at` tells several ones apart. */
export async function startMachine(at: number): Promise<Machine> {
  const name = `sbx${process.pid}n${at}`;
  const [here, there] = [`sbx${process.pid % 10_000}h${at}`, `sbx${process.pid % 10_000}m${at}`];
  // A run that was killed may have left its wires.
  const net = `10.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`;
  const [hub, own] = [`${net}.${4 * at + 1}`, `${net}.${4 * at + 2}`];
  const remove = async (): Promise<void> => void (await run('ip', ['netns', 'del', name]));
  await run('ip', ['netns', 'add', name]);
  try {
    await run('ip', ['link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name]);
    await run('ip', ['addr', 'add', `${hub}/30`, 'dev', here]);
    await run('ip', ['link', 'set', here, 'up']);
    const inside = (...words: string[]) => run('ip', ['-n', name, ...words]);
    await inside('addr', 'add', `${own}/30`, 'dev', there);
    await inside('link', 'set', there, 'up');
    await inside('link', 'set', 'lo', 'up');
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    prefix: ['ip', 'netns', 'exec', name],
    hub,
    plug: async (isIn) => void (await run('ip', ['link', 'set', here, isIn ? 'up' : 'down'])),
    [Symbol.asyncDispose]: remove,
  };
}

/**
 * Starts the command `signalbox`, on another machine if there is a prefix. Its log is added to a file. Resolves when it says that it is
 * ready.
 */
export async function startCommand<Ready>(
  args: readonly string[],
  { prefix = [], logFile }: { prefix?: readonly string[]; logFile: string },
): Promise<Child<Ready>> {
  const [file, ...words] = [...prefix, process.execPath, ...signalboxArgv([...args, '--json'])] as [
    string,
    ...string[],
  ];
  const child = spawn(file, words, {
    env: cleanEnv({ SIGNALBOX_LOG: process.env.SIGNALBOX_LOG ?? 'info' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  const log = createWriteStream(logFile, { flags: 'a' });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-100_000);
    log.write(text);
  });
  child.once('close', () => log.end());
  const exited = once(child, 'close').then(([code, signal]): ChildEnd => ({ code, signal }));
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      // An error is a line, too, and the process ends then.
      if (stdout.includes('\n') && !stdout.startsWith('{"error"')) resolve();
    });
    void exited.then(() => reject(new Error(`ended before it was ready: ${stdout}${stderr}`)));
  });
  const end = async (signal: NodeJS.Signals): Promise<ChildEnd> => {
    child.kill(signal);
    return await exited;
  };
  return {
    pid: child.pid!,
    ready: JSON.parse(stdout.split('\n', 1)[0]!) as Ready,
    exited,
    // With --json, an error is the last line of standard output.
    stderr: () => `${stderr}${stdout.slice(-2_000)}`,
    send: () => {},
    arm: async () => {},
    end,
    [Symbol.asyncDispose]: async () => void (await end('SIGKILL')),
  };
}
