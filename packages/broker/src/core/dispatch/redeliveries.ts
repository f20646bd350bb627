/** Timers of messages that a consumer gave back and that are offered again later. A restart offers them at once. */
export class Redeliveries {
  readonly #timers = new Map<string, Map<number, NodeJS.Timeout>>();
  readonly #onDue: (address: string, seq: number) => void;

  constructor(onDue: (address: string, seq: number) => void) {
    this.#onDue = onDue;
  }

  /** The message is held back for `delayMs`. */
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

  /** True while a message is held back. */
  waits(address: string, seq: number): boolean {
    return this.#timers.get(address)?.has(seq) ?? false;
  }

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
