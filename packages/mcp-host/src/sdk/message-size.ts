import type { MessageBounds } from '../too-large-answer.ts';

const byteOf = (character: string) => character.charCodeAt(0);
const lineFeed = byteOf('\n');
const carriageReturn = byteOf('\r');
const quote = byteOf('"');
const backslash = byteOf('\\');
const comma = byteOf(',');
const colon = byteOf(':');
const openBracket = byteOf('[');
const openBrace = byteOf('{');

/**
 * Measures the message that a response is sending: the whole body, or the present event of an event stream. An event ends
 * at an empty line. It reads bytes after decompression, and keeps none of them.
 */
export class MessageSize {
  readonly #bounds: MessageBounds;
  readonly isEventStream: boolean;
  #bytes = 0;
  #nodes = 0;
  /** The number of events that have ended. */
  events = 0;
  /** True if the present line is empty so far. */
  #isLineEmpty = true;
  #last = 0;
  #place: 'outside' | 'string' | 'escape' = 'outside';

  constructor(contentType: string | null, bounds: MessageBounds) {
    this.#bounds = bounds;
    this.isEventStream = contentType?.trimStart().toLowerCase().startsWith('text/event-stream') === true;
  }

  /** Takes the next bytes of the body. Returns the bound that a message exceeds, if there is one. */
  add(chunk: Uint8Array): keyof MessageBounds | undefined {
    let place = this.#place;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (byte === lineFeed || byte === carriageReturn) {
        this.#bytes++;
        this.#endLine(byte, i === 0 ? this.#last : chunk[i - 1]!);
        // No string of JSON holds a line end.
        place = 'outside';
        continue;
      }
      this.#isLineEmpty = false;
      if (++this.#bytes > this.#bounds.bytes) return 'bytes';
      if (place === 'escape') place = 'string';
      else if (place === 'string') {
        if (byte === quote) place = 'outside';
        else if (byte === backslash) place = 'escape';
      } else if (byte === quote) place = 'string';
      else if (byte === comma || byte === colon || byte === openBracket || byte === openBrace) {
        if (++this.#nodes > this.#bounds.nodes) return 'nodes';
      }
    }
    this.#place = place;
    this.#last = chunk.at(-1) ?? this.#last;
    return this.#bytes > this.#bounds.bytes ? 'bytes' : undefined;
  }

  #endLine(byte: number, before: number): void {
    // The two bytes CR LF end one line.
    if (byte === lineFeed && before === carriageReturn) return;
    if (this.isEventStream && this.#isLineEmpty) {
      this.events++;
      this.#bytes = 0;
      this.#nodes = 0;
    }
    this.#isLineEmpty = true;
  }
}
