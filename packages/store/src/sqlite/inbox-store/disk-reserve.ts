import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { isNoRoomErrno } from '../database.ts';

const chunk = Buffer.alloc(
  64 * 1024,
  'signalbox reserve: deleted when the disk is full, so that acks can still be kept. ',
);

/**
 * A file that only takes up room. When the disk is full, it is deleted. That leaves room for settlements, which free room in the
 * database, and for the checkpoint after which SQLite's log is written from its start again.
 */
export class DiskReserve {
  readonly #file: string;
  readonly #bytes: number;
  #isHeld = false;

  constructor(file: string, bytes: number) {
    this.#file = file;
    this.#bytes = bytes;
    this.hold();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Deletes the file. Throws if the medium refuses to be written for another reason than lack of room. */
  release(): void {
    this.#proveMedium();
    this.#isHeld = false;
    rmSync(this.#file, { force: true });
  }

  /** Takes the room again; false if there is none. */
  hold(): boolean {
    if (!this.#isHeld) this.#isHeld = this.#isWhole() || this.#write();
    return this.#isHeld;
  }

  /** Whether the reserve, and some room to work in, would fit if so many bytes more were free. */
  isPossibleWith(bytes: number): boolean {
    const { bavail, bsize } = statfsSync(dirname(this.#file));
    return bavail * bsize + bytes > this.#bytes * 1.25;
  }

  #isWhole(): boolean {
    return (statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) >= this.#bytes;
  }

  /** Writes beyond the end of the file: SQLite's errors don't tell a full medium from a broken one. */
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
      // Messages could not be written either. The caller goes on without a reserve.
      rmSync(this.#file, { force: true });
      return false;
    } finally {
      if (handle !== undefined) closeSync(handle);
    }
  }
}
