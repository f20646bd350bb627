import { isSubInbox } from '@signalbox/protocol';
import type { AuditLog, InboxStore } from '@signalbox/store';
import type { Delivery } from '../core/delivery.ts';

/** An abandoned sub-inbox keeps its messages so long. */
const subInboxLifeMs = 10 * 60 * 1000;
const page = 200;

/** Expires messages, drops old dead letters and empties sub-inboxes that nobody holds, in small steps. */
export class Housekeeping {
  readonly #store: InboxStore;
  readonly #delivery: Delivery;
  readonly #audit: AuditLog;
  readonly #now: () => number;
  readonly #unheldSince = new Map<string, number>();
  #cursor = '';

  constructor(store: InboxStore, delivery: Delivery, audit: AuditLog, now: () => number) {
    this.#store = store;
    this.#delivery = delivery;
    this.#audit = audit;
    this.#now = now;
  }

  /** One step. Called again and again, it covers everything. */
  async step(): Promise<void> {
    const now = this.#now();
    await this.#delivery.deadlines.sweep(now);
    for (const { seq, id, inbox } of await this.#store.dead.trim(now)) {
      const detail = `dead letter ${seq} ('${id}' to '${inbox}') was dropped to keep within the bounds`;
      this.#audit.record({ at: now, code: 'dead_letter_expired', detail });
    }
    const inboxes = await this.#store.inboxes(this.#cursor, page);
    this.#cursor = inboxes.length < page ? '' : inboxes.at(-1)!;
    for (const address of inboxes) if (isSubInbox(address)) await this.#clearIfAbandoned(address, now);
  }

  async #clearIfAbandoned(address: string, now: number): Promise<void> {
    if (this.#delivery.isHeld(address)) {
      this.#unheldSince.delete(address);
      return;
    }
    const since = this.#unheldSince.get(address);
    if (since === undefined) this.#unheldSince.set(address, now);
    else if (now - since >= subInboxLifeMs) {
      await this.#delivery.deadlines.clear(address);
      this.#unheldSince.delete(address);
    }
  }
}
