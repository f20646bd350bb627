import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** Thrown when a peer cannot take part, because its program is not installed here. */
export class NotAvailable extends Error {
  override name = 'NotAvailable';
}

/** The command of a program that is not ours, and the sign that it is ready. */
export interface ProgramOptions {
  command: string;
  args: readonly string[];
  /** The Debian package that contains the program; an error names it. */
  debianPackage?: string;
  env?: Record<string, string>;
  cwd?: string;
  /** The user to run as. */
  user?: { uid: number; gid: number };
  /** The program is ready when this port takes connections. */
  port?: number;
  /** The signal that asks the program to end; 10 s later it is killed. */
  stopSignal?: NodeJS.Signals;
  readyWithinMs?: number;
}

const keptOutputChars = 2000;

/**
 * Starts a program and waits until it is ready. It leads its own process group, so that Ctrl-C does not end it before we do, and all its
 * processes end with it. Rejects with {@link NotAvailable} if the program is missing.
 */
export async function startProgram(options: ProgramOptions): Promise<AsyncDisposable & { pid: number }> {
  const { command, args, debianPackage, env, cwd, user, port, stopSignal = 'SIGTERM' } = options;
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
    ...user,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-keptOutputChars);
    });
  }
  const exited = Promise.withResolvers<void>();
  let running = true;
  child.once('close', () => {
    running = false;
    exited.resolve();
  });
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(-child.pid!, name);
    } catch {
      // The group has ended.
    }
  };
  const stop = async (): Promise<void> => {
    if (running) signal(stopSignal);
    const late = setTimeout(() => signal('SIGKILL'), 10_000);
    await exited.promise;
    clearTimeout(late);
  };
  try {
    await once(child, 'spawn');
  } catch {
    throw new NotAvailable(
      `${command} is not installed${debianPackage ? ` (Debian package ${debianPackage})` : ''}`,
    );
  }
  const giveUpAt = performance.now() + (options.readyWithinMs ?? 30_000);
  while (port !== undefined && !(await takesConnections(port))) {
    if (running && performance.now() < giveUpAt) {
      await wait(50);
      continue;
    }
    await stop();
    throw new Error(`${command} did not start: ${output.trim() || 'it said nothing'}`);
  }
  return { pid: child.pid!, [Symbol.asyncDispose]: stop };
}

/** Runs a program to its end and returns what it printed; rejects with its output if it fails. */
export async function runProgram(
  options: Pick<ProgramOptions, 'command' | 'args' | 'debianPackage' | 'env' | 'cwd' | 'user'>,
): Promise<string> {
  const { command, args, debianPackage, env, cwd, user } = options;
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
    ...user,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = once(child, 'close');
  const [code] = await ended.catch(() => {
    throw new NotAvailable(
      `${command} is not installed${debianPackage ? ` (Debian package ${debianPackage})` : ''}`,
    );
  });
  if (code !== 0) throw new Error(`${command} failed: ${output.trim()}`);
  return output;
}

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
