/** Starts a one-shot timer; the returned function cancels it. */
export type StartTimer = (run: () => void, delayMs: number) => () => void;

/** Time and randomness as the client sees them; tests replace all of it. */
export interface Clock {
  /** Returns monotonic milliseconds. */
  now: () => number;
  startTimer: StartTimer;
  /** Returns a random number: 0 ≤ value < 1. */
  random: () => number;
}

/** Starts a timer of Node. */
export const startTimer: StartTimer = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};
