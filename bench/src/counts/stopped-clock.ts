/** The longest timer that waits for the stopped clock, in milliseconds. Longer ones belong to no single operation. */
const longestMs = 150;

/** A clock that can be stopped, so that no count depends on how fast the machine is. */
export interface StoppedClock {
  /** Stops the clock. Timers that are set from now on wait for {@link advance}, and intervals rest. */
  stop(): void;
  /** Lets the clock go on by that many milliseconds, and runs the timers that are due. */
  advance(ms: number): void;
  /** Lets the clock run again. */
  release(): void;
  /** The time to the next timer that waits. */
  readonly timerInMs: number | undefined;
}

interface Waiting {
  dueMs: number;
  run: () => void;
}

/** Replaces the monotonic clock, the timers and the intervals of this process. */
export function replaceClock(): StoppedClock {
  const real = { now: performance.now.bind(performance), setTimeout, clearTimeout, setInterval };
  let isStopped = false;
  let stoppedMs = 0;
  /** The monotonic clock never goes back, although it may have been ahead of the real one. */
  let aheadMs = 0;
  const waiting = new Map<NodeJS.Timeout, Waiting>();
  const now = (): number => (isStopped ? stoppedMs : real.now() + aheadMs);
  const next = (): [NodeJS.Timeout, Waiting] | undefined =>
    [...waiting].reduce<[NodeJS.Timeout, Waiting] | undefined>(
      (first, one) => (first && first[1].dueMs <= one[1].dueMs ? first : one),
      undefined,
    );
  replace(performance, 'now', now);
  replace(globalThis, 'setTimeout', (run: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) => {
    if (!isStopped || ms > longestMs) return real.setTimeout(run, ms, ...args);
    const timer = real.setTimeout(() => {}, 2 ** 31 - 1);
    waiting.set(timer, { dueMs: stoppedMs + ms, run: () => run(...args) });
    return timer;
  });
  replace(globalThis, 'clearTimeout', (timer: NodeJS.Timeout | undefined) => {
    if (timer !== undefined) waiting.delete(timer);
    real.clearTimeout(timer);
  });
  replace(globalThis, 'setInterval', (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
    real.setInterval(() => {
      if (!isStopped) run(...args);
    }, ms),
  );
  return {
    stop: () => {
      stoppedMs = now();
      isStopped = true;
    },
    advance: (ms) => {
      stoppedMs += ms;
      for (let due = next(); due && due[1].dueMs <= stoppedMs; due = next()) {
        clearTimeout(due[0]);
        due[1].run();
      }
    },
    release: () => {
      isStopped = false;
      aheadMs = Math.max(aheadMs, stoppedMs - real.now());
    },
    get timerInMs() {
      const first = next();
      return first && first[1].dueMs - stoppedMs;
    },
  };
}

/** Replaces a function, and keeps what hangs on it. */
function replace<O extends object, Name extends keyof O>(on: O, name: Name, by: unknown): void {
  const kept = Object.getOwnPropertyDescriptors(on[name] as object);
  Object.defineProperty(on, name, {
    value: Object.defineProperties(by as object, kept),
    configurable: true,
    writable: true,
  });
}
