import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The end of one run of the command line. */
export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** One command line, a line of JSON on descriptor 3. */
export interface WarmCommand {
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** Written to both outputs when the command is over; the exit code and a semicolon follow it in standard output. */
  mark: string;
}

const main = fileURLToPath(new URL('./warm-process-main.ts', import.meta.url));
const pointer = fileURLToPath(new URL('../../../apps/cli/bundle/main.js', import.meta.url));

/** A process that has loaded the command and runs one command line after the other, each for a third of what a process of its own costs. */
let child: ChildProcess | undefined;
let isBusy = false;

/** Runs a command line in the warm process. Returns `undefined` if that is busy. */
export function runWarm(
  command: Omit<WarmCommand, 'mark'>,
  nodeOptions: readonly string[],
): Promise<Run> | undefined {
  if (isBusy) return undefined;
  isBusy = true;
  child ??= start(nodeOptions);
  return runIn(child, command).finally(() => {
    isBusy = false;
  });
}

function start(nodeOptions: readonly string[]): ChildProcess {
  const [, build] = /'\.\/(\w+)\/main\.js'/.exec(readFileSync(pointer, 'utf8')) ?? [];
  const bundle = join(dirname(pointer), build!);
  const started = spawn(process.execPath, [...nodeOptions, main, bundle], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  started.stdout!.setEncoding('utf8');
  started.stderr!.setEncoding('utf8');
  started.once('close', () => {
    child = undefined;
  });
  return started;
}

async function runIn(warm: ChildProcess, command: Omit<WarmCommand, 'mark'>): Promise<Run> {
  const mark = `\0${randomUUID()}\0`;
  const { promise, resolve } = Promise.withResolvers<Run>();
  let [stdout, stderr] = ['', ''];
  const look = (): void => {
    const [printed = '', code] = stdout.split(mark);
    const [complained = '', end] = stderr.split(mark);
    if (end === undefined || !code?.endsWith(';')) return;
    resolve({ code: Number(code.slice(0, -1)), stdout: printed, stderr: complained });
  };
  const onStdout = (text: string): void => {
    stdout += text;
    look();
  };
  const onStderr = (text: string): void => {
    stderr += text;
    look();
  };
  // A command that ends its process is over with it.
  const onClose = (code: number | null): void => resolve({ code, stdout, stderr });
  warm.stdout!.on('data', onStdout);
  warm.stderr!.on('data', onStderr);
  warm.once('close', onClose);
  (warm.stdio[3] as NodeJS.WritableStream).write(`${JSON.stringify({ ...command, mark })}\n`);
  const run = await promise;
  warm.stdout!.off('data', onStdout);
  warm.stderr!.off('data', onStderr);
  warm.off('close', onClose);
  return run;
}
