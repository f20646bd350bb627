import type { Consumer } from '../consumer.ts';
import type { Lease } from './lease.ts';
import { SharedLease } from './shared-lease.ts';

/**
 * Keeps the current leases. An inbox has at most one lease, the inbox of a group has one for each member, and a consumer holds at most one.
 */
export class LeaseTable {
  readonly #byInbox = new Map<string, Lease>();
  readonly #byConsumer = new Map<Consumer, Lease>();
  readonly #byGroup = new Map<string, SharedLease>();

  /** The number of leases. */
  get size(): number {
    return this.#byConsumer.size;
  }

  /** Returns the lease on the inbox of an agent. */
  at(address: string): Lease | undefined {
    return this.#byInbox.get(address);
  }

  /** Tells whether a consumer holds an inbox, or takes messages of a group. */
  isLeased(address: string): boolean {
    return this.#byInbox.has(address) || this.#byGroup.has(address);
  }

  /** Returns the lease that the members of a group share. */
  ofGroup(address: string): SharedLease | undefined {
    return this.#byGroup.get(address);
  }

  /** Returns every lease that members of a group share. */
  ofGroups(): Iterable<SharedLease> {
    return this.#byGroup.values();
  }

  /** Returns the lease that a consumer holds. */
  of(consumer: Consumer): Lease | undefined {
    return this.#byConsumer.get(consumer);
  }

  /** Returns the lease whose holder has a message, if there is one. */
  holderOf(address: string, seq: number): Lease | undefined {
    const lease = this.#byInbox.get(address);
    if (lease) return lease.inFlight.has(seq) ? lease : undefined;
    return this.#byGroup.get(address)?.holderOf(seq);
  }

  /** Returns every current lease. */
  all(): Iterable<Lease> {
    return this.#byConsumer.values();
  }

  /** Adds a lease. The caller has ended the earlier leases of its inbox and of its consumer. */
  add(lease: Lease): void {
    this.#byConsumer.set(lease.consumer, lease);
    if (lease.isShared) this.#sharedAt(lease).join(lease);
    else this.#byInbox.set(lease.address, lease);
  }

  /** Ends a lease. The caller handles its messages in flight. */
  end(lease: Lease): void {
    lease.ended = true;
    this.#byConsumer.delete(lease.consumer);
    if (!lease.isShared) {
      this.#byInbox.delete(lease.address);
      return;
    }
    const shared = this.#byGroup.get(lease.address);
    shared?.leave(lease);
    if (shared?.isEmpty) this.#byGroup.delete(lease.address);
  }

  /** Ends every lease. */
  endAll(): void {
    for (const lease of this.all()) this.end(lease);
  }

  #sharedAt({ address, keys }: Lease): SharedLease {
    const known = this.#byGroup.get(address);
    if (known) return known;
    const shared = new SharedLease(address, keys);
    this.#byGroup.set(address, shared);
    return shared;
  }
}
