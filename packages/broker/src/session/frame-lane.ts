/** Longest batch, in characters: a longer one would keep the other side waiting for its end before it can begin. */
const longestBatch = 64 * 1024;

/** Frames in their order, joined as they come to batches: a batch ends where a frame does. */
export class FrameLane {
  #full: string[] = [];
  #last = '';

  get isEmpty(): boolean {
    return this.#last.length === 0;
  }

  /** One frame, or some that stay together. */
  add(text: string): void {
    const isRoom = this.#last.length + text.length <= longestBatch;
    if (isRoom || this.isEmpty) this.#last += text;
    else {
      this.#full.push(this.#last);
      this.#last = text;
    }
  }

  /** The batches so far; the lane is empty afterwards. */
  take(): string[] {
    const batches = this.#full;
    if (!this.isEmpty) batches.push(this.#last);
    this.#full = [];
    this.#last = '';
    return batches;
  }
}
