/** The longest batch, in characters. The other side can begin to read a batch only when all of it has arrived. */
const maxBatchLength = 64 * 1024;

/** Joins frames, in their order, into batches for one WebSocket message each. A longer frame is a batch of its own. */
export class FrameLane {
  #full: string[] = [];
  #last = '';

  /** Adds the text of one frame, or of several that must stay together. */
  add(text: string): void {
    const isRoom = this.#last.length + text.length <= maxBatchLength;
    if (isRoom || this.#last === '') this.#last += text;
    else {
      this.#full.push(this.#last);
      this.#last = text;
    }
  }

  /** Removes all batches and returns them. */
  take(): string[] {
    const batches = this.#full;
    if (this.#last !== '') batches.push(this.#last);
    this.#full = [];
    this.#last = '';
    return batches;
  }
}
