/** The longest batch, in characters. The other side would have to wait for the end of a longer one before it can begin. */
const longestBatch = 64 * 1024;

/** Joins frames in their order to batches. A batch ends where a frame does. */
export class FrameLane {
  #full: string[] = [];
  #last = '';

  get isEmpty(): boolean {
    return this.#last.length === 0;
  }

  /** Adds one frame, or some that stay together. */
  add(text: string): void {
    const isRoom = this.#last.length + text.length <= longestBatch;
    if (isRoom || this.isEmpty) this.#last += text;
    else {
      this.#full.push(this.#last);
      this.#last = text;
    }
  }

  /** Returns the batches so far. The lane is empty afterwards. */
  take(): string[] {
    const batches = this.#full;
    if (!this.isEmpty) batches.push(this.#last);
    this.#full = [];
    this.#last = '';
    return batches;
  }
}
