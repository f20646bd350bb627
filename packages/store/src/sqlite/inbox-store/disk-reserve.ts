import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const chunk = Buffer.alloc(
  64 * 1024,
  'signalbox reserve: given up when the disk is full, so that acks can still be kept. ',
);

/**
 * A file that only takes up room. Given up when a disk is full, it leaves enough for settlements, which free room in the
 * database, and for the checkpoint that lets its log be used again.
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

  release(): void {
    this.#isHeld = false;
    rmSync(this.#file, { force: true });
  }

  /** Takes the room again; false if there is none. */
  hold(): boolean {
    if (!this.#isHeld) this.#isHeld = this.#isWhole() || this.#write();
    return this.#isHeld;
  }

  /** True if there were room for it, and some to work in, with so many bytes more. */
  isPossibleWith(bytes: number): boolean {
    const { bavail, bsize } = statfsSync(dirname(this.#file));
    return bavail * bsize + bytes > this.#bytes * 1.25;
  }

  #isWhole(): boolean {
    return (statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) >= this.#bytes;
  }

  #write(): boolean {
    let handle: number | undefined;
    try {
      handle = openSync(this.#file, 'w', 0o600);
      for (let left = this.#bytes; left > 0; )
        left -= writeSync(handle, chunk, 0, Math.min(left, chunk.length));
      return true;
    } catch {
      // Whatever keeps the reserve from being written keeps messages from it, too: the caller goes on without.
      rmSync(this.#file, { force: true });
      return false;
    } finally {
      if (handle !== undefined) closeSync(handle);
    }
  }
}
