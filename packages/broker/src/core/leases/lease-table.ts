import type { Consumer } from '../consumer.ts';
import type { Lease } from './lease.ts';

/** The leases in force: an inbox has at most one, and so has a consumer. */
export class LeaseTable {
  readonly #byInbox = new Map<string, Lease>();
  readonly #byConsumer = new Map<Consumer, Lease>();

  get size(): number {
    return this.#byInbox.size;
  }

  /** The lease on an inbox. */
  at(address: string): Lease | undefined {
    return this.#byInbox.get(address);
  }

  /** The lease that a consumer holds. */
  of(consumer: Consumer): Lease | undefined {
    return this.#byConsumer.get(consumer);
  }

  all(): Iterable<Lease> {
    return this.#byInbox.values();
  }

  /** Puts a lease in force. Those that its inbox and its consumer had are ended before. */
  add(lease: Lease): void {
    this.#byInbox.set(lease.address, lease);
    this.#byConsumer.set(lease.consumer, lease);
  }

  end(lease: Lease): void {
    lease.ended = true;
    this.#byInbox.delete(lease.address);
    this.#byConsumer.delete(lease.consumer);
  }

  endAll(): void {
    for (const lease of this.all()) this.end(lease);
  }
}
