import { isSubInbox } from '@signalbox/protocol';
import type { AuditLog, ClusterPort, InboxStore } from '@signalbox/store';
import { auditEvent } from '../audit-event.ts';
import type { Delivery } from '../core/delivery.ts';
import type { ExpiryClock } from '../core/time/expiry-clock.ts';

/** The time for which a sub-inbox keeps its messages after its last holder has left, in milliseconds. */
const subInboxLifetimeMs = 10 * 60 * 1000;
const inboxesPerStep = 200;

/** The dependencies of {@link Housekeeping}. */
export interface HousekeepingDeps {
  store: InboxStore;
  cluster: Pick<ClusterPort, 'keepsHouse'>;
  delivery: Delivery;
  audit: AuditLog;
  time: ExpiryClock;
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/**
 * Expires messages, drops old dead letters and empties sub-inboxes without holders, in small steps. If there are several brokers, one of
 * them does the last two for all. Each expires the messages of the inboxes that it holds.
 */
export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  /** The time when each sub-inbox was first seen without a holder, in monotonic milliseconds. */
  readonly #unleasedSince = new Map<string, number>();
  /** The name of the last inbox of the previous step. */
  #cursor = '';

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
  }

  /** Does one step. Repeated calls cover everything. */
  async step(): Promise<void> {
    const { store, cluster, delivery, audit, time, now } = this.#deps;
    await delivery.deadlines.sweep();
    if (!cluster.keepsHouse) return;
    const at = now();
    for (const { seq, id, inbox } of await store.dead.trim(time)) {
      const detail = `dead letter ${seq} ('${id}' to '${inbox}') was dropped to keep within the bounds`;
      audit.record(auditEvent('dead_letter_expired', { at, name: inbox, detail }));
    }
    const inboxes = await store.inboxes(this.#cursor, inboxesPerStep);
    this.#cursor = inboxes.length < inboxesPerStep ? '' : inboxes.at(-1)!;
    const unleased = inboxes.filter((address) => isSubInbox(address) && !delivery.isLeased(address));
    const elsewhere = unleased.length > 0 ? await delivery.leasedElsewhere(unleased) : new Set();
    for (const address of inboxes)
      if (isSubInbox(address)) await this.#clearIfAbandoned(address, elsewhere.has(address));
  }

  async #clearIfAbandoned(address: string, isLeasedElsewhere: boolean): Promise<void> {
    const { delivery, monotonic } = this.#deps;
    const now = monotonic();
    if (isLeasedElsewhere || delivery.isLeased(address)) {
      this.#unleasedSince.delete(address);
      return;
    }
    const since = this.#unleasedSince.get(address);
    if (since === undefined) this.#unleasedSince.set(address, now);
    else if (now - since >= subInboxLifetimeMs) {
      await delivery.deadlines.clear(address);
      this.#unleasedSince.delete(address);
    }
  }
}
