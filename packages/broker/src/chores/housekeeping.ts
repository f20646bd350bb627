import { isSubInbox } from '@signalbox/protocol';
import type { AuditLog, InboxStore } from '@signalbox/store';
import type { Delivery } from '../core/delivery.ts';

/** The time that a sub-inbox keeps its messages after its last holder left. */
const subInboxLifetimeMs = 10 * 60 * 1000;
const inboxesPerStep = 200;

/** Expires messages, drops old dead letters and empties sub-inboxes that nobody holds, in small steps. */
export class Housekeeping {
  readonly #store: InboxStore;
  readonly #delivery: Delivery;
  readonly #audit: AuditLog;
  readonly #now: () => number;
  /** When each sub-inbox was first seen without a holder, in epoch milliseconds. */
  readonly #unheldSince = new Map<string, number>();
  /** The name of the inbox that the last step ended with. */
  #cursor = '';

  constructor(store: InboxStore, delivery: Delivery, audit: AuditLog, now: () => number) {
    this.#store = store;
    this.#delivery = delivery;
    this.#audit = audit;
    this.#now = now;
  }

  /** Does one step. Repeated calls cover everything. */
  async step(): Promise<void> {
    const now = this.#now();
    await this.#delivery.deadlines.sweep(now);
    for (const { seq, id, inbox } of await this.#store.dead.trim(now)) {
      const detail = `dead letter ${seq} ('${id}' to '${inbox}') was dropped to keep within the bounds`;
      this.#audit.record({ at: now, code: 'dead_letter_expired', detail });
    }
    const inboxes = await this.#store.inboxes(this.#cursor, inboxesPerStep);
    this.#cursor = inboxes.length < inboxesPerStep ? '' : inboxes.at(-1)!;
    for (const address of inboxes) if (isSubInbox(address)) await this.#clearIfAbandoned(address, now);
  }

  async #clearIfAbandoned(address: string, now: number): Promise<void> {
    if (this.#delivery.isHeld(address)) {
      this.#unheldSince.delete(address);
      return;
    }
    const since = this.#unheldSince.get(address);
    if (since === undefined) this.#unheldSince.set(address, now);
    else if (now - since >= subInboxLifetimeMs) {
      await this.#delivery.deadlines.clear(address);
      this.#unheldSince.delete(address);
    }
  }
}
