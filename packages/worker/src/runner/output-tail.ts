import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';

/** How much of an agent's output is kept, in bytes. */
export const keptOutputBytes = 65_536;

/** An agent may print its own token file; what we repeat of it doesn't. */
const token = /sbx_[a-z0-9_.*-]+~[A-Za-z0-9_-]+/g;
const cutWord = /^[\w.*~-]{1,180}/;

/** The end of what a process wrote, and its last line that says something. */
export class OutputTail {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > keptOutputBytes) this.#isCut = true;
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) >= keptOutputBytes) {
      this.#bytes -= this.#chunks.shift()!.length;
    }
  }

  /** At most {@link keptOutputBytes}, with tokens blacked out. */
  text(): string {
    const all = Buffer.concat(this.#chunks);
    const text = new StringDecoder('utf8').write(all.subarray(-keptOutputBytes));
    // What is cut off may be the beginning of a token, by which the rest of it would be known.
    const whole = this.#isCut ? text.replace(cutWord, '') : text;
    return whole.replace(token, '[token]');
  }

  /** At most `length` characters on one line, without what steers a terminal. */
  lastLine(length: number): string {
    const lines = stripVTControlCharacters(this.text().slice(-4096)).split(/[\r\n]+/);
    const line = lines.findLast((text) => text.trim() !== '') ?? '';
    const flat = line.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ').trim();
    return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
  }
}
