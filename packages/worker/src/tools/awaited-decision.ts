/** Determines when a call has waited so long for a person's decision that its client is told. */
export class AwaitedDecision implements Disposable {
  /** The approval for which the call waits now. */
  approval: string | undefined;
  readonly #onTookLong: () => void;
  readonly #until: number;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Starts the time for which the client waits, in milliseconds. `onTookLong` is called when the call has run for that time and waits for
   * a decision.
   */
  constructor(patienceMs: number, onTookLong: () => void) {
    this.#onTookLong = onTookLong;
    this.#until = performance.now() + patienceMs;
  }

  /** Records that the call begins to wait for an approval, or continues if `approval` is `undefined`. */
  awaits(approval: string | undefined): void {
    clearTimeout(this.#timer);
    this.approval = approval;
    if (approval === undefined) return;
    const leftMs = Math.max(0, this.#until - performance.now());
    this.#timer = setTimeout(this.#onTookLong, leftMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
