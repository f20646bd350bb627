import { setTimeout as delay } from 'node:timers/promises';
import type { Child, ChildEnd } from '@signalbox/testing';

/** A process that is started again whenever it ends, as a supervisor would. Disposing it ends it for good. */
export interface RestartingProcess<Ready> extends AsyncDisposable {
  readonly name: string;
  /** The living process, or the next one as soon as it is ready. */
  ready(): Promise<Child<Ready>>;
  /** Sends a message to the living process. The message is lost if there is none. */
  send(message: object): void;
  /** Sets the fault of the living process; see `Child.arm`. */
  arm(fault: string | null): Promise<void>;
  /** Sends a signal to the living process; nobody gets it if there is none. */
  signal(signal: NodeJS.Signals): void;
  /** The id of the living process. */
  readonly pid: number | undefined;
  /** Resolves when the living process has ended. */
  readonly exited: Promise<ChildEnd> | undefined;
  /** Ends it for good. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

export interface RestartingProcessOptions<Ready> {
  name: string;
  start: () => Promise<Child<Ready>>;
  /** The pause before a start that failed is tried again, in milliseconds. By default it is not, and `ready` rejects. */
  retryMs?: number;
  /** Called when the process has ended. `at` is in monotonic milliseconds. */
  onDeath: (end: ChildEnd, at: number, stderr: string) => void;
}

export async function startRestarting<Ready>(
  options: RestartingProcessOptions<Ready>,
): Promise<RestartingProcess<Ready>> {
  let alive: Child<Ready> | undefined;
  let stopping = false;
  let coming = launch();

  async function started(): Promise<Child<Ready>> {
    for (;;) {
      try {
        return await options.start();
      } catch (error) {
        if (options.retryMs === undefined || stopping) throw error;
        await delay(options.retryMs);
      }
    }
  }

  async function launch(): Promise<Child<Ready>> {
    const child = await started();
    alive = child;
    void child.exited.then((end) => {
      alive = undefined;
      if (stopping) return;
      coming = launch();
      coming.catch(() => {});
      options.onDeath(end, performance.now(), child.stderr());
    });
    return child;
  }

  async function stop(signal: NodeJS.Signals): Promise<void> {
    stopping = true;
    const child = await coming.catch(() => undefined);
    await child?.end(signal);
  }

  await coming;
  return {
    name: options.name,
    ready: () => coming,
    send: (message) => alive?.send(message),
    arm: async (fault) => {
      await alive?.arm(fault);
    },
    signal: (signal) => {
      try {
        if (alive) process.kill(alive.pid, signal);
      } catch (error) {
        // It may have ended a moment ago.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    },
    get pid() {
      return alive?.pid;
    },
    get exited() {
      return alive?.exited;
    },
    stop,
    [Symbol.asyncDispose]: () => stop('SIGKILL'),
  };
}
