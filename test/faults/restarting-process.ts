import type { Child, ChildEnd } from '@signalbox/testing';

/** A process that is started again whenever it ends, as a supervisor would. Disposing it ends it for good. */
export interface RestartingProcess<Ready> extends AsyncDisposable {
  readonly name: string;
  /** The living process, or the next one as soon as it is ready. */
  ready(): Promise<Child<Ready>>;
  /** Sends a message to the living process; lost if there is none. */
  send(message: object): void;
  /** Sets the fault of the living process; see `Child.arm`. */
  arm(fault: string | null): Promise<void>;
  kill(): void;
  /** Process id of the life that is up now. */
  readonly pid: number | undefined;
  /** Ends it for good. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

export interface RestartingProcessOptions<Ready> {
  name: string;
  start: () => Promise<Child<Ready>>;
  /** `at` is the time of its end in monotonic milliseconds. */
  onDeath: (end: ChildEnd, at: number, stderr: string) => void;
}

export async function startRestarting<Ready>(
  options: RestartingProcessOptions<Ready>,
): Promise<RestartingProcess<Ready>> {
  let alive: Child<Ready> | undefined;
  let stopping = false;
  let coming = launch();

  async function launch(): Promise<Child<Ready>> {
    const child = await options.start();
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
    kill: () => {
      void alive?.end('SIGKILL');
    },
    get pid() {
      return alive?.pid;
    },
    stop,
    [Symbol.asyncDispose]: () => stop('SIGKILL'),
  };
}
