/** Starts a one-shot timer; the returned function cancels it. */
export type StartTimer = (run: () => void, delayMs: number) => () => void;

/** Time and chance as the client sees them; all of it can be replaced in tests. */
export interface Clock {
  /** Monotonic milliseconds. */
  now: () => number;
  startTimer: StartTimer;
  /** 0 ≤ value < 1 */
  random: () => number;
}

export const startTimer: StartTimer = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

/** Something the client reports: `event` names it, the rest are facts. Never holds a token or a body. */
export type Log = (event: { event: string; [fact: string]: unknown }) => void;
