import type { Fault } from '@signalbox/protocol';
import type { Outbox } from './outbox.ts';

/**
 * Decides when the frames that wait in outboxes leave: when the running step of the event loop is over, with all that its
 * promises still do. So what one commit, one sync or one read makes for a connection leaves as one WebSocket message.
 */
export class OutboxFlusher {
  readonly #fault: Fault;
  #dirty: Outbox[] = [];

  constructor(fault: Fault) {
    this.#fault = fault;
  }

  /** An outbox got its first frame since it was flushed. */
  readonly add = (outbox: Outbox): void => {
    if (this.#dirty.length === 0) process.nextTick(this.#flush);
    this.#dirty.push(outbox);
  };

  readonly #flush = (): void => {
    const dirty = this.#dirty;
    this.#dirty = [];
    // A consumer can start working on a message, and nobody is held up by a receipt.
    for (const outbox of dirty) {
      if (!outbox.hasMessages) continue;
      outbox.flush();
      this.#fault('broker.push.after');
    }
    for (const outbox of dirty) outbox.flush();
  };
}
