import type { Fault } from '@signalbox/protocol';
import type { Outbox } from './outbox.ts';

/** Sends what all outboxes gathered, once per turn of the event loop or earlier when asked. */
export class Flusher {
  readonly #fault: Fault;
  #dirty: Outbox[] = [];
  #immediate: NodeJS.Immediate | undefined;

  constructor(fault: Fault) {
    this.#fault = fault;
  }

  /** An outbox got its first frame since the last flush. */
  readonly add = (outbox: Outbox): void => {
    this.#dirty.push(outbox);
    this.#immediate ??= setImmediate(() => this.flush());
  };

  flush(): void {
    // One that finds nothing to do would cost a turn of the event loop of its own.
    if (this.#immediate) clearImmediate(this.#immediate);
    this.#immediate = undefined;
    const dirty = this.#dirty;
    if (dirty.length === 0) return;
    this.#dirty = [];
    // Somebody can start working on a message; nobody is held up by a receipt.
    for (const outbox of dirty) {
      if (!outbox.hasMessages) continue;
      outbox.flush();
      this.#fault('broker.push.after');
    }
    for (const outbox of dirty) outbox.flush();
  }
}
