/** The state of a circuit: calls pass, no call passes, or a single probe passes. */
export type CircuitState = 'closed' | 'open' | 'half_open';

/** The effect of a call on the circuit. A `neutral` call has none, for example because it was cancelled. */
export type Verdict = 'success' | 'failure' | 'neutral';

/** The conditions under which a circuit opens, and the time for which it stays open. */
export interface CircuitOptions {
  /** The number of consecutive failures that opens the circuit. */
  threshold: number;
  /** The time for which it then stays open, in milliseconds. */
  resetMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** The permission to make one call. It is handed back with the verdict on the call. */
export interface Permit {
  readonly isProbe: boolean;
  /** Changes when the circuit opens or closes, so that the verdicts of earlier calls don't count. */
  readonly era: number;
}

/** The reason why no call is let through now, and the time until the next probe. */
export interface Refusal {
  /** The time until the next probe in milliseconds; 0 while a probe is under way, because nobody knows when it ends. */
  retryAfterMs: number;
  failures: number;
  /** The reason of the last failure. */
  cause: string | undefined;
}

/** The change that a verdict made to the state of the circuit; `undefined` if it made none. */
export type CircuitChange = 'opened' | 'closed' | undefined;

/**
 * A circuit breaker. It is closed until `threshold` consecutive failures, then open for `resetMs`, then half open: it
 * lets one probe at a time through, whose success closes it and whose failure opens it again. It is our own because the
 * known libraries (opossum, cockatiel) keep their own clocks.
 */
export class CircuitBreaker {
  readonly #options: CircuitOptions;
  #failures = 0;
  #cause: string | undefined;
  /** Defined while the circuit is not closed. */
  #openUntil: number | undefined;
  #probe: Permit | undefined;
  #era = 0;
  #callsUnderWay = 0;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get state(): CircuitState {
    if (this.#openUntil === undefined) return 'closed';
    return this.#options.now() < this.#openUntil ? 'open' : 'half_open';
  }

  get consecutiveFailures(): number {
    return this.#failures;
  }

  /** True if the breaker has nothing to remember: it is closed, without failures, and no call is under way. */
  get isPristine(): boolean {
    return this.#openUntil === undefined && this.#failures === 0 && this.#callsUnderWay === 0;
  }

  /** Asks for the permission to make a call; {@link leave} must follow each permit. */
  enter(): Permit | Refusal {
    if (this.#openUntil === undefined) return this.#admit(false);
    const retryAfterMs = Math.max(0, this.#openUntil - this.#options.now());
    if (retryAfterMs > 0 || this.#probe) {
      return { retryAfterMs, failures: this.#failures, cause: this.#cause };
    }
    this.#probe = this.#admit(true);
    return this.#probe;
  }

  /** Hands a permit back, once. `cause` is the reason of a failure. */
  leave(permit: Permit, verdict: Verdict, cause?: string): CircuitChange {
    this.#callsUnderWay--;
    if (permit === this.#probe) this.#probe = undefined;
    if (permit.era !== this.#era || verdict === 'neutral') return undefined;
    if (verdict === 'failure') {
      this.#cause = cause;
      return this.#failed();
    }
    this.#failures = 0;
    if (!permit.isProbe) return undefined;
    this.#openUntil = undefined;
    this.#era++;
    return 'closed';
  }

  #admit(isProbe: boolean): Permit {
    this.#callsUnderWay++;
    return { isProbe, era: this.#era };
  }

  /** A failed probe opens the circuit again, because the count of failures is still at the threshold. */
  #failed(): CircuitChange {
    this.#failures++;
    if (this.#failures < this.#options.threshold) return undefined;
    this.#openUntil = this.#options.now() + this.#options.resetMs;
    this.#era++;
    return 'opened';
  }
}
