const lineFeed = 10;
const carriageReturn = 13;

/**
 * Measures the message that a response is sending: the whole body, or the present event of an event stream. An event ends
 * at an empty line. It reads bytes after decompression, and keeps none of them.
 */
export class MessageSize {
  readonly #isEventStream: boolean;
  #bytes = 0;
  #lineBytes = 0;
  #last = 0;

  constructor(contentType: string | null) {
    this.#isEventStream = contentType?.trimStart().toLowerCase().startsWith('text/event-stream') === true;
  }

  /** Takes the next bytes of the body. Returns the largest size that a message had meanwhile, in bytes. */
  add(chunk: Uint8Array): number {
    if (!this.#isEventStream) {
      this.#bytes += chunk.length;
      return this.#bytes;
    }
    let largest = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      const isLineEnd = byte === lineFeed || byte === carriageReturn;
      // The two bytes CR LF end one line.
      const endsLine = isLineEnd && !(byte === lineFeed && this.#last === carriageReturn);
      this.#last = byte;
      this.#bytes++;
      if (!isLineEnd) this.#lineBytes++;
      else if (endsLine) {
        if (this.#bytes > largest) largest = this.#bytes;
        if (this.#lineBytes === 0) this.#bytes = 0;
        this.#lineBytes = 0;
      }
    }
    return Math.max(largest, this.#bytes);
  }
}
