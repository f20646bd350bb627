/** The two clocks of a process, which move only when a test moves them. `now` is in epoch milliseconds. */
export interface TestClock {
  now: () => number;
  monotonic: () => number;
  /** Lets time pass on both clocks. */
  advance(ms: number): void;
  /** Steps only the wall clock, forward or back, as an administrator, a time server or a suspend does. */
  step(ms: number): void;
}

/** Makes clocks that stand at `start`, in epoch milliseconds. */
export function testClock(start = 1_800_000_000_000): TestClock {
  let now = start;
  let monotonic = 1000;
  return {
    now: () => now,
    monotonic: () => monotonic,
    advance(ms) {
      now += ms;
      monotonic += ms;
    },
    step(ms) {
      now += ms;
    },
  };
}
