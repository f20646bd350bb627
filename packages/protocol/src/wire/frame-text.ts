/** One frame as text: a header line, and the body line if the header announces one. */
export interface FrameText {
  header: string;
  body?: string;
}

/**
 * Writes one frame as text that ends with a newline. `body` is opaque text that must not hold a newline;
 * JSON without pretty-printing never does.
 */
export function encodeFrame(header: object, body?: string): string {
  const text = JSON.stringify(header);
  if (body === undefined) return `${text}\n`;
  const fields = text.slice(0, -1);
  return `${fields}${fields.length > 1 ? ',' : ''}"body":true}\n${body}\n`;
}

const announcesBody = /"body"\s*:\s*true/;

/**
 * Walks the frames of one WebSocket message without an object for each. A header announces its body by the text `"body":true`, even
 * if it is not JSON, so that a broken header cannot turn its body into a frame.
 */
export class FrameCursor {
  /** The header line of the current frame. */
  header = '';
  /** The body line of the current frame. `undefined` if the header announces none, or if it is missing. */
  body: string | undefined;
  readonly #message: string;
  #at = 0;

  constructor(message: string) {
    this.#message = message;
  }

  /** Moves to the next frame, over empty lines. Returns false if there is none. */
  next(): boolean {
    do {
      if (this.#at >= this.#message.length) return false;
      this.header = this.#line();
    } while (this.header === '');
    const hasBody = announcesBody.test(this.header);
    this.body = hasBody && this.#at < this.#message.length ? this.#line() : undefined;
    return true;
  }

  #line(): string {
    const end = this.#message.indexOf('\n', this.#at);
    const line = end < 0 ? this.#message.slice(this.#at) : this.#message.slice(this.#at, end);
    this.#at += line.length + 1;
    return line;
  }
}

/** Splits one WebSocket message into its frames, by the rules of {@link FrameCursor}. */
export function* splitFrames(message: string): Generator<FrameText> {
  const cursor = new FrameCursor(message);
  while (cursor.next()) {
    const { header, body } = cursor;
    yield body === undefined ? { header } : { header, body };
  }
}
