/** The conditions and the waits for starting a failed process again. Times are in milliseconds. */
export interface RestartPolicy {
  firstDelayMs: number;
  longestDelayMs: number;
  /** This many failures within {@link windowMs} are a crash loop, which ends the restarts. */
  failures: number;
  windowMs: number;
}

/** The restart policy of `worker run --restart on-failure`. */
export const defaultRestartPolicy: RestartPolicy = {
  firstDelayMs: 1000,
  longestDelayMs: 30_000,
  failures: 5,
  windowMs: 60_000,
};

/** Counts the failures of one agent. */
export class RestartBudget {
  readonly #policy: RestartPolicy;
  #failedAt: number[] = [];

  constructor(policy: RestartPolicy) {
    this.#policy = policy;
  }

  /**
   * Counts a failure. Returns the wait before the next process, half of it random (0 ≤ `random` < 1), or the number of failures that end
   * the restarts.
   */
  failed(nowMs: number, random: number): { delayMs: number } | { failures: number } {
    const { firstDelayMs, longestDelayMs, failures, windowMs } = this.#policy;
    this.#failedAt = [...this.#failedAt.filter((at) => nowMs - at < windowMs), nowMs];
    const count = this.#failedAt.length;
    if (count >= failures) return { failures: count };
    const full = Math.min(longestDelayMs, firstDelayMs * 2 ** (count - 1));
    return { delayMs: Math.round(full / 2 + (full / 2) * random) };
  }
}
