import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';
import { maxTokenLength, withoutTokens } from '@signalbox/protocol';
import { KeptEnd } from './kept-end.ts';

/** The most bytes that are kept of an agent's output. */
export const keptOutputBytes = 65_536;

const cutWord = new RegExp(String.raw`^[\w.*~-]{1,${maxTokenLength}}`);

/** Keeps the end of the output of a process. */
export class OutputTail {
  #end = new KeptEnd(keptOutputBytes);

  /** Adds a chunk of output. */
  add(chunk: Buffer): void {
    this.#end.add(chunk);
  }

  /** Forgets the output until now, because it belongs to work that has ended. */
  clear(): void {
    this.#end = new KeptEnd(keptOutputBytes);
  }

  /** Returns at most {@link keptOutputBytes}, with tokens replaced. */
  text(): string {
    const text = new StringDecoder('utf8').write(this.#end.bytes());
    // The cut may have removed the beginning of a token; the rest would not be recognized.
    const whole = this.#end.total > keptOutputBytes ? text.replace(cutWord, '') : text;
    return withoutTokens(whole);
  }

  /** Returns the last line that is not blank, at most `length` characters of it, without terminal control sequences. */
  lastLine(length: number): string {
    const lines = stripVTControlCharacters(this.text().slice(-4096)).split(/[\r\n]+/);
    return plainLine(lines.findLast((text) => text.trim() !== '') ?? '', length);
  }
}

/** Returns at most `length` characters of a text as one line, without terminal control sequences and with tokens replaced. */
export function plainLine(text: string, length: number): string {
  const plain = stripVTControlCharacters(withoutTokens(text));
  const flat = plain.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ').trim();
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
}
