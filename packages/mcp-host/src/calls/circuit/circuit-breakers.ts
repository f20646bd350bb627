import { instanceFacts } from '../../config/instance-name.ts';
import type { ServerPolicy } from '../../config/server-config.ts';
import type { HostEvent } from '../../host-event.ts';
import type { CallTarget } from '../call-target.ts';
import {
  CircuitBreaker,
  type CircuitChange,
  type CircuitOptions,
  type CircuitState,
} from './circuit-breaker.ts';

const defaultThreshold = 5;
const defaultResetMs = 30_000;
/** The number of instances whose breakers are remembered; instances come and go with their agents. */
const maxBreakers = 256;
const bestFirst: CircuitState[] = ['closed', 'half_open', 'open'];

/** The circuit breakers of one server, one for each of its instances. */
export class CircuitBreakers {
  readonly #breakers = new Map<string, CircuitBreaker>();
  /** The instance whose breaker was used last. */
  #newest: string | undefined;
  readonly #options: CircuitOptions;
  readonly #log: (event: HostEvent) => void;

  constructor(
    { circuitThreshold = defaultThreshold, circuitResetMs = defaultResetMs }: ServerPolicy,
    { now, log }: { now: () => number; log: (event: HostEvent) => void },
  ) {
    this.#options = { threshold: circuitThreshold, resetMs: circuitResetMs, now };
    this.#log = log;
  }

  /** Returns the breaker of an instance. */
  breakerOf(instance: string): CircuitBreaker {
    const known = this.#breakers.get(instance);
    if (known && instance === this.#newest) return known;
    this.#newest = instance;
    if (!known && this.#breakers.size === maxBreakers) this.#forgetOne();
    const breaker = known ?? new CircuitBreaker(this.#options);
    // The breaker that was used last is at the end.
    this.#breakers.delete(instance);
    this.#breakers.set(instance, breaker);
    return breaker;
  }

  /** Logs a change that a verdict caused, unless the breaker was reset since. */
  report(
    { name, instance }: Pick<CallTarget, 'name' | 'instance'>,
    breaker: CircuitBreaker,
    change: CircuitChange,
  ): void {
    if (change === undefined || this.#breakers.get(instance) !== breaker) return;
    const facts = instanceFacts(name, instance);
    if (change === 'opened') {
      const { consecutiveFailures: failures } = breaker;
      this.#log({ event: 'circuit_opened', ...facts, failures, resetMs: this.#options.resetMs });
    }
    if (change === 'closed') this.#log({ event: 'circuit_closed', ...facts });
  }

  /** Returns the worst state and the most failures of any instance. */
  worst(): { circuit: CircuitState; consecutiveFailures: number } {
    const all = [...this.#breakers.values()];
    return {
      circuit: bestFirst[Math.max(0, ...all.map(({ state }) => bestFirst.indexOf(state)))]!,
      consecutiveFailures: Math.max(0, ...all.map(({ consecutiveFailures }) => consecutiveFailures)),
    };
  }

  /** Closes all circuits. */
  reset(): void {
    this.#breakers.clear();
  }

  /** Removes a breaker that has nothing to remember, or else the one that was unused for the longest time. */
  #forgetOne(): void {
    const [oldest] = this.#breakers.keys();
    const pristine = [...this.#breakers].find(([, { isPristine }]) => isPristine)?.[0];
    this.#breakers.delete(pristine ?? oldest!);
  }
}
