import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { isNoRoomErrno } from '../database.ts';

const chunk = Buffer.alloc(
  64 * 1024,
  'signalbox reserve: deleted when the disk is full, so that acks can still be kept. ',
);

/**
 * A file that only occupies room. It is deleted when the disk is full. That leaves room for settlements, which free room in the database,
 * and for the checkpoint after which SQLite's log is written from its start again.
 */
export class DiskReserve {
  readonly #file: string;
  readonly #bytes: number;
  /** True while the file occupies the room. */
  isHeld = false;

  constructor(file: string, bytes: number) {
    this.#file = file;
    this.#bytes = bytes;
    this.hold();
  }

  /** Deletes the file. Throws if the medium refuses writes for another reason than lack of room. */
  release(): void {
    this.#proveMedium();
    this.isHeld = false;
    rmSync(this.#file, { force: true });
  }

  /** Occupies the room again. Returns false if there is too little. */
  hold(): boolean {
    if (!this.isHeld) this.isHeld = this.#isWhole() || this.#write();
    return this.isHeld;
  }

  /** Tells whether the reserve and some working room would fit if this many more bytes were free. */
  isPossibleWith(bytes: number): boolean {
    const { bavail, bsize } = statfsSync(dirname(this.#file));
    return bavail * bsize + bytes > this.#bytes * 1.25;
  }

  #isWhole(): boolean {
    return (statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) >= this.#bytes;
  }

  /** Writes beyond the end of the file, because SQLite's errors don't distinguish a full medium from a broken one. */
  #proveMedium(): void {
    let handle: number | undefined;
    try {
      handle = openSync(this.#file, 'a', 0o600);
      writeSync(handle, chunk);
      fsyncSync(handle);
    } catch (thrown) {
      if (!isNoRoomErrno(thrown)) throw thrown;
    } finally {
      if (handle !== undefined) closeSync(handle);
    }
  }

  #write(): boolean {
    let handle: number | undefined;
    try {
      handle = openSync(this.#file, 'w', 0o600);
      for (let left = this.#bytes; left > 0; )
        left -= writeSync(handle, chunk, 0, Math.min(left, chunk.length));
      return true;
    } catch (thrown) {
      if (!isNoRoomErrno(thrown)) throw thrown;
      // Then messages could not be written either. The caller continues without a reserve.
      rmSync(this.#file, { force: true });
      return false;
    } finally {
      if (handle !== undefined) closeSync(handle);
    }
  }
}
