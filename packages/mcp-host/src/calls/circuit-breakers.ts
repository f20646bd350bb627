import type { ServerPolicy } from '../config/server-config.ts';
import type { HostEvent } from '../host-event.ts';
import type { CallTarget } from './call-target.ts';
import { CircuitBreaker, type CircuitChange, type CircuitState } from './circuit-breaker.ts';

const defaultThreshold = 5;
const defaultResetMs = 30_000;
/** Instances come and go with their agents; those that failed long ago are forgotten first. */
const mostBreakers = 256;
const badness: CircuitState[] = ['closed', 'half_open', 'open'];

/** Whose circuit it is. */
type Circuit = Pick<CallTarget, 'name' | 'instance'>;

/** The circuit breakers of one server: one for each of its instances, as long as it has something to remember. */
export class CircuitBreakers {
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

  /** The breaker of an instance, for one call; {@link release} must follow. */
  take(instance: string): CircuitBreaker {
    const breaker = this.#breakers.get(instance) ?? new CircuitBreaker(this.#options);
    this.#breakers.delete(instance);
    this.#breakers.set(instance, breaker);
    if (this.#breakers.size > mostBreakers) {
      const [oldest] = this.#breakers.keys();
      this.#breakers.delete(oldest!);
    }
    return breaker;
  }

  release(instance: string, breaker: CircuitBreaker): void {
    if (breaker.isPristine && this.#breakers.get(instance) === breaker) this.#breakers.delete(instance);
  }

  /** Logs what a verdict changed, unless the breaker was reset since. */
  report({ name, instance }: Circuit, breaker: CircuitBreaker, change: CircuitChange): void {
    if (change === undefined || this.#breakers.get(instance) !== breaker) return;
    const where = { server: name, ...(instance !== '' && { instance }) };
    if (change === 'opened') {
      const { consecutiveFailures: failures } = breaker;
      this.#log({ event: 'circuit_opened', ...where, failures, resetMs: this.#options.resetMs });
    }
    if (change === 'closed') this.#log({ event: 'circuit_closed', ...where });
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
