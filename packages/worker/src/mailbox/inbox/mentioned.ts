import type { WaitingMessage } from './mail-hint.ts';

/** The most messages that are remembered: far more than are checked. */
const maxMentioned = 1_000;

/** Remembers the messages that hints have mentioned to one process of an agent, over all of its connections to a face. */
export class Mentioned {
  readonly #keys = new Set<string>();

  has(message: WaitingMessage): boolean {
    return this.#keys.has(keyOf(message));
  }

  add(message: WaitingMessage): void {
    this.#keys.add(keyOf(message));
    if (this.#keys.size <= maxMentioned) return;
    const [oldest] = this.#keys;
    if (oldest !== undefined) this.#keys.delete(oldest);
  }
}

/** Two senders may use the same id, so the key has both. Neither can hold a blank. */
function keyOf({ id, from }: WaitingMessage): string {
  return `${from} ${id}`;
}
