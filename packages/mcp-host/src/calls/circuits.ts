import type { ServerPolicy } from '../config.ts';
import type { HostEvent } from '../host-api.ts';
import type { CallTarget } from './call-target.ts';
import { CircuitBreaker, type CircuitChange, type CircuitState } from './circuit-breaker.ts';

const defaultThreshold = 5;
const defaultResetMs = 30_000;
/** Instances come and go with their agents; those that failed long ago are forgotten first. */
const mostBreakers = 256;
const badness: CircuitState[] = ['closed', 'half_open', 'open'];

/** The circuit breakers of one server: one for each of its instances, as long as it has something to remember. */
export class Circuits {
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #options: { threshold: number; resetMs: number; now: () => number };
  readonly #log: (event: HostEvent) => void;

  constructor(
    { circuitThreshold = defaultThreshold, circuitResetMs = defaultResetMs }: ServerPolicy,
    { now, log }: { now: () => number; log: (event: HostEvent) => void },
  ) {
    this.#options = { threshold: circuitThreshold, resetMs: circuitResetMs, now };
    this.#log = log;
  }

  /** Runs something with the breaker of the target's instance and the way to report its changes. */
  async through<T>(
    { name, instance }: Pick<CallTarget, 'name' | 'instance'>,
    run: (breaker: CircuitBreaker, onCircuit: (change: CircuitChange) => void) => Promise<T>,
  ): Promise<T> {
    const breaker = this.#breakers.get(instance) ?? new CircuitBreaker(this.#options);
    this.#breakers.delete(instance);
    this.#breakers.set(instance, breaker);
    const [oldest] = this.#breakers.keys();
    if (this.#breakers.size > mostBreakers) this.#breakers.delete(oldest!);
    const where = { server: name, ...(instance !== '' && { instance }) };
    try {
      return await run(breaker, (change) => {
        if (this.#breakers.get(instance) !== breaker) return;
        if (change === 'opened') {
          const { consecutiveFailures: failures } = breaker;
          this.#log({ event: 'circuit_opened', ...where, failures, resetMs: this.#options.resetMs });
        }
        if (change === 'closed') this.#log({ event: 'circuit_closed', ...where });
      });
    } finally {
      if (breaker.isPristine && this.#breakers.get(instance) === breaker) this.#breakers.delete(instance);
    }
  }

  /** The worst state and the most failures of any instance. */
  worst(): { circuit: CircuitState; consecutiveFailures: number } {
    const all = [...this.#breakers.values()];
    return {
      circuit: badness[Math.max(0, ...all.map(({ state }) => badness.indexOf(state)))]!,
      consecutiveFailures: Math.max(0, ...all.map(({ consecutiveFailures }) => consecutiveFailures)),
    };
  }

  reset(): void {
    this.#breakers.clear();
  }
}
