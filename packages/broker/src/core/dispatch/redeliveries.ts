/**
 * Holds back messages that a consumer gave back with a delay. The delays are not stored: after a restart the messages are pushed at once.
 */
export class Redeliveries {
  readonly #timers = new Map<string, Map<number, NodeJS.Timeout>>();
  readonly #onDue: (address: string, seq: number) => void;

  /** `onDue` is called for each message whose delay is over. */
  constructor(onDue: (address: string, seq: number) => void) {
    this.#onDue = onDue;
  }

  /** Holds a message back for `delayMs` milliseconds. */
  schedule(address: string, seq: number, delayMs: number): void {
    let timers = this.#timers.get(address);
    if (!timers) {
      timers = new Map();
      this.#timers.set(address, timers);
    }
    clearTimeout(timers.get(seq));
    timers.set(
      seq,
      setTimeout(() => this.#due(address, seq), delayMs),
    );
  }

  /** Tells whether a message is held back. */
  isHeldBack(address: string, seq: number): boolean {
    return this.#timers.get(address)?.has(seq) ?? false;
  }

  /** Stops all timers. */
  close(): void {
    for (const timers of this.#timers.values()) for (const timer of timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #due(address: string, seq: number): void {
    const timers = this.#timers.get(address);
    timers?.delete(seq);
    if (timers?.size === 0) this.#timers.delete(address);
    this.#onDue(address, seq);
  }
}
