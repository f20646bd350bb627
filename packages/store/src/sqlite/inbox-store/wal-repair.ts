/** The layout of SQLite's write-ahead log: https://sqlite.org/fileformat2.html#the_write_ahead_log */
const headerBytes = 32;
const frameHeaderBytes = 24;
/** The last bit of the magic number is the byte order of the words that are summed. */
const magic = 0x377f0682;

type Sum = readonly [number, number];

/** A log that is damaged in the middle: it has frames that can't be valid, and valid ones after them. */
export interface DamagedWal {
  /** The number of damaged frames. */
  damaged: number;
  /**
   * Logs with new checksums, from which SQLite reads all frames up to the last valid commit: once with the damaged frames, and once without
   * them.
   */
  candidates: Buffer[];
}

/**
 * Finds damage that a crash doesn't cause. SQLite reads a log up to its first frame with a wrong checksum, and silently ignores everything
 * after it. But each frame holds the sum up to its own end, so that the frames after a damaged one can still be checked. Returns
 * `undefined` for a log that is undamaged, or only has a torn end. `pageSize` is that of the database.
 */
export function findWalDamage(wal: Buffer, pageSize: number): DamagedWal | undefined {
  if (wal.length < headerBytes + frameHeaderBytes) return undefined;
  const log = new Log(wal, pageSize);
  const sound = Array.from({ length: log.frames }, (_, frame) => log.isSound(frame));
  const firstDamaged = log.isHeaderSound ? sound.indexOf(false) : 0;
  const lastCommit = sound.findLastIndex((isSound, frame) => isSound && log.commitSize(frame) > 0);
  if (firstDamaged < 0 || lastCommit < firstDamaged) return undefined;
  const used = sound.slice(0, lastCommit + 1);
  const pages = log.commitSize(lastCommit);
  const all = [...used.keys()];
  const possible = all.filter((frame) => used[frame] || (log.page(frame) > 0 && log.page(frame) <= pages));
  const candidates = [possible, all.filter((frame) => used[frame])];
  return {
    damaged: used.filter((isSound) => !isSound).length,
    candidates: candidates.map((frames) => log.withFrames(frames, used)),
  };
}

class Log {
  readonly frames: number;
  readonly isHeaderSound: boolean;
  readonly #wal: Buffer;
  readonly #pageSize: number;
  readonly #isBigEndian: boolean;
  readonly #salts: Buffer;

  constructor(wal: Buffer, databasePageSize: number) {
    this.#wal = wal;
    this.#isBigEndian = wal.readUInt32BE(0) === magic + 1;
    this.isHeaderSound =
      (wal.readUInt32BE(0) & ~1) === magic && isSame(this.#sum(0, 24, [0, 0]), this.#sumAt(24));
    this.#pageSize = this.isHeaderSound ? wal.readUInt32BE(8) : databasePageSize;
    this.#salts = this.isHeaderSound ? wal.subarray(16, 24) : wal.subarray(headerBytes + 8, headerBytes + 16);
    this.frames = Math.floor((wal.length - headerBytes) / this.#frameBytes);
  }

  /** Tells whether a frame belongs to this log, and continues the sum that the frame before it holds. */
  isSound(frame: number): boolean {
    const at = this.#at(frame);
    if (!this.#wal.subarray(at + 8, at + 16).equals(this.#salts)) return false;
    const before = this.#sumAt(frame === 0 ? 24 : this.#at(frame - 1) + 16);
    return isSame(this.#frameSum(this.#wal, at, before), this.#sumAt(at + 16));
  }

  page(frame: number): number {
    return this.#wal.readUInt32BE(this.#at(frame));
  }

  /** Returns the number of the database's pages after a commit, or 0 for a frame that doesn't end one. */
  commitSize(frame: number): number {
    return this.#wal.readUInt32BE(this.#at(frame) + 4);
  }

  /** Makes a log of some frames. Only undamaged ones end commits. */
  withFrames(frames: readonly number[], sound: readonly boolean[]): Buffer {
    const made = Buffer.alloc(headerBytes + frames.length * this.#frameBytes);
    this.#wal.copy(made, 0, 0, headerBytes);
    made.writeUInt32BE(this.#isBigEndian ? magic + 1 : magic, 0);
    made.writeUInt32BE(3_007_000, 4);
    made.writeUInt32BE(this.#pageSize, 8);
    this.#salts.copy(made, 16);
    let sum = writeSum(made, 24, this.#sum(0, 24, [0, 0], made));
    frames.forEach((frame, n) => {
      const at = headerBytes + n * this.#frameBytes;
      this.#wal.copy(made, at, this.#at(frame), this.#at(frame + 1));
      if (!sound[frame]) made.writeUInt32BE(0, at + 4);
      this.#salts.copy(made, at + 8);
      sum = writeSum(made, at + 16, this.#frameSum(made, at, sum));
    });
    return made;
  }

  get #frameBytes(): number {
    return frameHeaderBytes + this.#pageSize;
  }

  #at(frame: number): number {
    return headerBytes + frame * this.#frameBytes;
  }

  #sumAt(at: number): Sum {
    return [this.#wal.readUInt32BE(at), this.#wal.readUInt32BE(at + 4)];
  }

  #frameSum(from: Buffer, at: number, before: Sum): Sum {
    const header = this.#sum(at, at + 8, before, from);
    return this.#sum(at + frameHeaderBytes, at + this.#frameBytes, header, from);
  }

  #sum(from: number, to: number, [first, second]: Sum, bytes: Buffer = this.#wal): Sum {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const isLittleEndian = !this.#isBigEndian;
    let [a, b] = [first, second];
    for (let at = from; at < to; at += 8) {
      a = (a + view.getUint32(at, isLittleEndian) + b) | 0;
      b = (b + view.getUint32(at + 4, isLittleEndian) + a) | 0;
    }
    return [a >>> 0, b >>> 0];
  }
}

function isSame(a: Sum, b: Sum): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

function writeSum(to: Buffer, at: number, sum: Sum): Sum {
  to.writeUInt32BE(sum[0], at);
  to.writeUInt32BE(sum[1], at + 4);
  return sum;
}
