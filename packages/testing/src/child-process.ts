import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { programOptions } from './program-options.ts';

/** The end of a process: one of the two fields is null. */
export interface ChildEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A Node process that runs from source and sends messages over its channel. Disposing it is `end('SIGKILL')`. */
export interface Child<Ready> extends AsyncDisposable {
  readonly pid: number;
  /** The first message that it sent. */
  readonly ready: Ready;
  readonly exited: Promise<ChildEnd>;
  /** Returns the standard error that it has written so far. */
  stderr(): string;
  /** Sends a message; it is lost if the process has ended. */
  send(message: object): void;
  /**
   * Sets the point at which the process dies, or none; see `processFaults`. Resolves when it has read this, or
   * when it has ended.
   */
  arm(fault: string | null): Promise<void>;
  end(signal: NodeJS.Signals): Promise<ChildEnd>;
}

export interface ChildOptions {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Called with every message after the first. */
  onMessage?: (message: unknown) => void;
}

/** Starts the script and resolves with its first message. Rejects with its standard error if it ends before. */
export async function startChild<Ready>(main: URL, options: ChildOptions = {}): Promise<Child<Ready>> {
  const child = fork(fileURLToPath(main), options.args ?? [], {
    execArgv: programOptions(),
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr!.on('data', (chunk) => {
    stderr = `${stderr}${chunk}`.slice(-65_536);
  });
  // The channel may hold messages when the process has already ended; they count as long as it was alive.
  const exited = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(
    ([[code, signal]]): ChildEnd => ({ code, signal }),
  );
  const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (!first) throw new Error(`${main.pathname} ended at its start: ${stderr}`);
  const arming: (() => void)[] = [];
  child.on('message', (message) => {
    if (typeof message === 'object' && message !== null && 'armed' in message) arming.shift()?.();
    else options.onMessage?.(message);
  });
  const send = (message: object): void => {
    if (child.connected) child.send(message, () => {});
  };
  const end = async (signal: NodeJS.Signals): Promise<ChildEnd> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  };
  return {
    pid: child.pid!,
    ready: first[0] as Ready,
    exited,
    stderr: () => stderr,
    send,
    async arm(fault) {
      const armed = new Promise<void>((resolve) => arming.push(resolve));
      send({ fault });
      await Promise.race([armed, exited]);
    },
    end,
    async [Symbol.asyncDispose]() {
      await end('SIGKILL');
    },
  };
}
