import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { SignalboxError } from '@signalbox/protocol';
import { neutralEnvironment, ownCommand } from '../process/own-command.ts';

/** A broker or an orchestrator in a process of its own. */
export interface Daemon {
  readonly pid: number;
  /** The facts that it announced when it was ready. */
  readonly ready: Record<string, unknown>;
  readonly running: boolean;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts `signalbox <argv> --json` and waits until it is ready; rejects with what it printed instead. */
export async function startDaemon(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Daemon> {
  const { command, args } = ownCommand();
  const child = spawn(command, [...args, ...withJson(argv)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...neutralEnvironment(), ...env },
  });
  const exited = once(child, 'exit');
  const line = await firstLine(child);
  const ready = line === undefined ? undefined : (JSON.parse(line) as Record<string, unknown>);
  if (ready === undefined || 'error' in ready) {
    throw new SignalboxError('internal', `signalbox ${argv[0]} didn't start: ${line ?? 'it said nothing'}`);
  }
  return {
    pid: child.pid!,
    ready,
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
  };
}

/** Adds `--json` to a command line, before the one that it may hold for a program. */
function withJson(argv: readonly string[]): string[] {
  const at = argv.indexOf('--');
  return at < 0 ? [...argv, '--json'] : [...argv.slice(0, at), '--json', ...argv.slice(at)];
}

/** Runs `signalbox <argv> --json` to its end and reads what it printed. */
export async function runCommand(argv: readonly string[]): Promise<Record<string, unknown>> {
  const { command, args } = ownCommand();
  const run = promisify(execFile);
  const { stdout } = await run(command, [...args, ...argv, '--json'], { env: neutralEnvironment() });
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function firstLine(child: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout! })) {
    child.stdout!.resume();
    return line;
  }
  return undefined;
}
