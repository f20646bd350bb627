export type CircuitState = 'closed' | 'open' | 'half_open';

/** `neutral`: it says nothing about the server, as a call that was cancelled. */
export type Verdict = 'success' | 'failure' | 'neutral';

export interface CircuitOptions {
  /** Consecutive failures that open the circuit. */
  threshold: number;
  /** Milliseconds it then stays open. */
  resetMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** Leave to make one call, to be handed back with its verdict. */
export interface Permit {
  readonly isProbe: boolean;
  /** Changes when the circuit opens or closes, so that calls from before have no say in it. */
  readonly era: number;
}

/** Why no call is let through now. */
export interface Refusal {
  /** Until the next probe; 0 while one is under way, whose end nobody knows. */
  retryAfterMs: number;
  failures: number;
  /** Of the last failure. */
  cause: string | undefined;
}

/** What a verdict changed. */
export type CircuitChange = 'opened' | 'closed' | undefined;

/**
 * Closed until `threshold` consecutive failures, then open for `resetMs`, then half open: one probe at a time, whose success
 * closes it and whose failure opens it again. Our own, because known libraries (opossum, cockatiel) keep their own clocks.
 */
export class CircuitBreaker {
  readonly #options: CircuitOptions;
  #failures = 0;
  #cause: string | undefined;
  /** Defined while the circuit is not closed. */
  #opensUntil: number | undefined;
  #probe: Permit | undefined;
  #era = 0;
  #entered = 0;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get state(): CircuitState {
    if (this.#opensUntil === undefined) return 'closed';
    return this.#options.now() < this.#opensUntil ? 'open' : 'half_open';
  }

  get consecutiveFailures(): number {
    return this.#failures;
  }

  /** Nothing would be lost with it: closed, no failures, no call under way. */
  get isPristine(): boolean {
    return this.#opensUntil === undefined && this.#failures === 0 && this.#entered === 0;
  }

  enter(): Permit | Refusal {
    if (this.#opensUntil === undefined) return this.#admit(false);
    const retryAfterMs = Math.max(0, this.#opensUntil - this.#options.now());
    if (retryAfterMs > 0 || this.#probe) {
      return { retryAfterMs, failures: this.#failures, cause: this.#cause };
    }
    this.#probe = this.#admit(true);
    return this.#probe;
  }

  /** Must follow each permit, once. `cause`: of a failure. */
  leave(permit: Permit, verdict: Verdict, cause?: string): CircuitChange {
    this.#entered--;
    if (permit === this.#probe) this.#probe = undefined;
    if (permit.era !== this.#era || verdict === 'neutral') return undefined;
    if (verdict === 'failure') {
      this.#cause = cause;
      return this.#failed();
    }
    this.#failures = 0;
    if (!permit.isProbe) return undefined;
    this.#opensUntil = undefined;
    this.#era++;
    return 'closed';
  }

  #admit(isProbe: boolean): Permit {
    this.#entered++;
    return { isProbe, era: this.#era };
  }

  /** A failed probe is one more failure than it took to open. */
  #failed(): CircuitChange {
    this.#failures++;
    if (this.#failures < this.#options.threshold) return undefined;
    this.#opensUntil = this.#options.now() + this.#options.resetMs;
    this.#era++;
    return 'opened';
  }
}
