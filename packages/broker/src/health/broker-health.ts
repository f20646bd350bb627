import { late, within } from '@signalbox/serving';
import type { HealthCheck, Readiness } from '@signalbox/serving/monitoring';
import { type InboxStore, isFinalFailure, withoutReserve } from '@signalbox/store';
import { isUnavailable } from '../store-unavailable.ts';

/** The time for which a proof that the store works is valid, in milliseconds. */
const proofMs = 1000;
/** The time that the store has for one proof, in milliseconds. */
const patienceMs = 5000;

/** The dependencies of {@link BrokerHealth}. */
export interface BrokerHealthDeps {
  store: Pick<InboxStore, 'prove' | 'usage'>;
  /** The part of the store's room that only some messages may use, in per cent. */
  reservePercent: number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Knows whether the broker can store messages. Asking it writes to the disk at most once a second. */
export class BrokerHealth {
  readonly #deps: BrokerHealthDeps;
  #phase: 'starting' | 'running' | 'draining' | 'failed' = 'starting';
  #proof: { readiness: Readiness; at: number } | undefined;
  #proving: Promise<Readiness> | undefined;

  constructor(deps: BrokerHealthDeps) {
    this.#deps = deps;
  }

  /** Notes the phase of the broker. A store that has failed stays failed. */
  enter(phase: 'running' | 'draining' | 'failed'): void {
    if (this.#phase !== 'failed') this.#phase = phase;
  }

  /** Tells whether the broker can store messages. The proof is at most a second old. */
  async ready(): Promise<Readiness> {
    const before = this.#readinessOfPhase();
    if (before) return before;
    const { monotonic } = this.#deps;
    const proof = this.#proof;
    if (proof && monotonic() - proof.at <= proofMs) return proof.readiness;
    this.#proving ??= this.#prove().finally(() => {
      this.#proving = undefined;
    });
    const readiness = await inTime(this.#proving);
    return this.#readinessOfPhase() ?? readiness;
  }

  /** Returns the line about the store in `/readyz?verbose`. */
  check(): HealthCheck {
    const readiness = this.#readinessOfPhase() ?? this.#proof?.readiness;
    const ok = readiness?.ready ?? false;
    const detail = !readiness ? 'not proved yet' : readiness.ready ? 'writes and reads' : readiness.reason;
    return { name: 'store', ok, detail };
  }

  #readinessOfPhase(): Readiness | undefined {
    switch (this.#phase) {
      case 'starting':
        return notReady('starting', 'the broker is starting');
      case 'draining':
        return notReady('draining', 'the broker is stopping');
      case 'failed':
        return notReady('store_failed', 'the disk failed, and the broker stops');
      case 'running':
        return undefined;
    }
  }

  async #prove(): Promise<Readiness> {
    const readiness = await this.#proved();
    this.#proof = { readiness, at: this.#deps.monotonic() };
    return readiness;
  }

  async #proved(): Promise<Readiness> {
    const { store, reservePercent } = this.#deps;
    try {
      if ((await store.prove()) === 'full')
        return notReady('storage_full', 'the disk is full: messages are refused until there is room');
      const { usedBytes, maxBytes } = await store.usage();
      if (usedBytes < withoutReserve(maxBytes, reservePercent)) return { ready: true };
      return notReady('storage_full', 'broker.limits.store.bytes is reached: messages are refused');
    } catch (error) {
      if (isFinalFailure(error)) this.enter('failed');
      if (isUnavailable(error))
        return notReady(
          'store_unavailable',
          "the broker's database can't be reached, or is too busy; it is tried again",
        );
      return notReady('store_failed', 'the disk did not take a write; the log of the broker says why');
    }
  }
}

function notReady(code: string, reason: string): Readiness {
  return { ready: false, code, reason };
}

/** Waits for a proof, but not for a disk that hangs. */
async function inTime(proving: Promise<Readiness>): Promise<Readiness> {
  const proof = await within(proving, patienceMs);
  if (proof !== late) return proof;
  return notReady('store_slow', `the disk has not taken a write for ${patienceMs / 1000} seconds`);
}
