import type { Consumer } from '../consumer.ts';
import type { Lease } from './lease.ts';

/** Keeps the leases in force. An inbox has at most one, and a consumer holds at most one. */
export class LeaseTable {
  readonly #byInbox = new Map<string, Lease>();
  readonly #byConsumer = new Map<Consumer, Lease>();

  get size(): number {
    return this.#byInbox.size;
  }

  /** Returns the lease on an inbox. */
  at(address: string): Lease | undefined {
    return this.#byInbox.get(address);
  }

  /** Returns the lease that a consumer holds. */
  of(consumer: Consumer): Lease | undefined {
    return this.#byConsumer.get(consumer);
  }

  /** Returns every lease in force. */
  all(): Iterable<Lease> {
    return this.#byInbox.values();
  }

  /** Puts a lease in force. The caller has ended those that its inbox and its consumer had. */
  add(lease: Lease): void {
    this.#byInbox.set(lease.address, lease);
    this.#byConsumer.set(lease.consumer, lease);
  }

  /** Ends a lease. Messages in flight are the caller's business. */
  end(lease: Lease): void {
    lease.ended = true;
    this.#byInbox.delete(lease.address);
    this.#byConsumer.delete(lease.consumer);
  }

  /** Ends every lease. */
  endAll(): void {
    for (const lease of this.all()) this.end(lease);
  }
}
