import { type FileHandle, open } from 'node:fs/promises';
import { type KeptHeader, type KeptPlaces, readAt, readKeptHeader } from './kept-file.ts';
import type { KeptText } from './kept-text.ts';

/** A kept result that is open for reading. It can be read to its end even if the store deletes it meanwhile. */
export class KeptResult implements AsyncDisposable {
  readonly header: KeptHeader;
  readonly #handle: FileHandle;
  readonly #places: KeptPlaces;

  private constructor(handle: FileHandle, header: KeptHeader, places: KeptPlaces) {
    this.#handle = handle;
    this.header = header;
    this.#places = places;
  }

  /** Opens a file. Resolves with `undefined` if it is damaged. Rejects if it cannot be read. */
  static async open(file: string): Promise<KeptResult | undefined> {
    const handle = await open(file, 'r');
    try {
      const read = await readKeptHeader(handle);
      if (read) return new KeptResult(handle, read.header, read.places);
    } catch (thrown) {
      await handle.close();
      throw thrown;
    }
    await handle.close();
    return undefined;
  }

  /** The size of the file in bytes. */
  get bytes(): number {
    return this.#places.end;
  }

  /** Returns one of its two documents. */
  document(part: 'text' | 'json'): KeptText {
    const begin = this.#places[part];
    const { bytes, lines, marks } = this.header[part];
    return {
      ...{ bytes, lines, marks },
      read: (at, length) => readAt(this.#handle, begin + at, Math.max(0, Math.min(length, bytes - at))),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#handle.close();
  }
}
