import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { writeWhole } from '@signalbox/serving/whole-files';
import { KeptEnd } from '../runner/output/kept-end.ts';
import type { OutputWriter } from '../runner/output/output-writer.ts';

/** The most bytes that are kept of the beginning of a stream. */
export const keptHeadBytes = 65_536;
/** The most bytes that are kept of the end of a stream. An answer is no longer. */
export const keptEndBytes = 262_144;
/** The most chunks in which the beginning is kept. */
const maxPieces = 64;

/** Keeps the beginning and the end of an output stream of any length. */
export class TurnStream implements OutputWriter {
  readonly #end = new KeptEnd(keptEndBytes);
  #head: Buffer[] = [];
  #headBytes = 0;

  async write(chunk: Buffer): Promise<void> {
    this.#end.add(chunk);
    if (this.#headBytes >= keptHeadBytes) return;
    const part = chunk.subarray(0, keptHeadBytes - this.#headBytes);
    this.#head.push(part);
    this.#headBytes += part.length;
    // Many small pieces would take more memory than their bytes.
    if (this.#head.length >= maxPieces) this.#head = [Buffer.concat(this.#head)];
  }

  async end(): Promise<void> {}

  /** Returns the beginning. */
  head(): string {
    return new StringDecoder('utf8').write(Buffer.concat(this.#head));
  }

  /** Returns the whole stream, or its end from the beginning of a line on, and the number of bytes that are missing before it. */
  text(): { text: string; cutBytes: number } {
    const end = this.#end.bytes();
    if (this.#end.total <= keptEndBytes) return { text: new StringDecoder('utf8').write(end), cutBytes: 0 };
    const line = end.indexOf(0x0a);
    // A line that is longer than everything that is kept is cut in its middle, between two characters.
    const from = line >= 0 && line < end.length - 1 ? line + 1 : firstCharacter(end);
    return {
      text: new StringDecoder('utf8').write(end.subarray(from)),
      cutBytes: this.#end.total - end.length + from,
    };
  }
}

/** Returns a text that is not whole with a first line that says how much is missing. */
export function textWithCut({ text, cutBytes }: { text: string; cutBytes: number }): string {
  return cutBytes > 0 ? `[${cutBytes} bytes before this were cut off]\n${text}` : text.trimEnd();
}

/** Returns the offset of the first whole UTF-8 character. */
function firstCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length && at < 4 && (bytes[at]! & 0xc0) === 0x80) at++;
  return at;
}

/** The most outputs in a folder. The oldest ones are removed: each broker, folder and program has files of its own. */
export const keptOutputs = 100;

/**
 * Returns a function that writes a turn's output into a file, in place of the output of the turn before. The first one removes the oldest
 * outputs beside it beyond {@link keptOutputs}.
 */
export function outputKeeper(path: string): (text: string) => Promise<void> {
  let writing = Promise.resolve();
  let removing: Promise<void> | undefined;
  return (text) => {
    writing = writing
      .catch(() => {})
      .then(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
      .then(() => writeWhole(path, text))
      .then(() => (removing ??= removeOldest(dirname(path))));
    return writing;
  };
}

async function removeOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.output'));
  if (names.length <= keptOutputs) return;
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      // Another process may have removed it.
      const found = await stat(path).catch(() => undefined);
      return { path, at: found?.mtimeMs ?? 0 };
    }),
  );
  files.sort((a, b) => b.at - a.at);
  await Promise.all(files.slice(keptOutputs).map(({ path }) => rm(path, { force: true })));
}
