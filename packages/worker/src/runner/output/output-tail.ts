import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';
import { maxTokenLength, withoutTokens } from '@signalbox/protocol';

/** How much of an agent's output is kept, in bytes. */
export const keptOutputBytes = 65_536;

const cutWord = new RegExp(String.raw`^[\w.*~-]{1,${maxTokenLength}}`);

/** Keeps the end of the output of a process. */
export class OutputTail {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  /** Adds a chunk of output. */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > keptOutputBytes) this.#isCut = true;
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) >= keptOutputBytes) {
      this.#bytes -= this.#chunks.shift()!.length;
    }
  }

  /** Returns at most {@link keptOutputBytes}, with tokens replaced. */
  text(): string {
    const all = Buffer.concat(this.#chunks);
    const text = new StringDecoder('utf8').write(all.subarray(-keptOutputBytes));
    // The cut may have removed the beginning of a token, so that the rest would not be recognized.
    const whole = this.#isCut ? text.replace(cutWord, '') : text;
    return withoutTokens(whole);
  }

  /** Returns the last line that is not blank, at most `length` characters of it, without terminal control sequences. */
  lastLine(length: number): string {
    const lines = stripVTControlCharacters(this.text().slice(-4096)).split(/[\r\n]+/);
    const line = lines.findLast((text) => text.trim() !== '') ?? '';
    const flat = line.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ').trim();
    return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
  }
}
