import type { Fault } from '@signalbox/serving';
import type { Outbox } from './outbox.ts';

/**
 * Flushes outboxes at the end of the current step of the event loop (`process.nextTick`). So all frames that one commit, one sync or one
 * read produces for a connection are sent as one WebSocket message.
 */
export class OutboxFlusher {
  readonly #fault: Fault | undefined;
  #dirty: Outbox[] = [];

  constructor(fault: Fault | undefined) {
    this.#fault = fault;
  }

  /** Adds an outbox that got its first frame since its last flush. */
  readonly add = (outbox: Outbox): void => {
    if (this.#dirty.length === 0) process.nextTick(this.#flush);
    this.#dirty.push(outbox);
  };

  readonly #flush = (): void => {
    const dirty = this.#dirty;
    this.#dirty = [];
    // Messages are sent before receipts, because consumers can begin to work on them.
    for (const outbox of dirty) {
      if (!outbox.hasMessages) continue;
      outbox.flush();
      this.#fault?.('broker.push.after');
    }
    for (const outbox of dirty) outbox.flush();
  };
}
