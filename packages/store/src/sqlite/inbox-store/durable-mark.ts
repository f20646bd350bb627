import { closeSync, constants, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { rowChecksum } from '../row-checksum.ts';
import { syncDirectory } from '../wal-sync.ts';

/** The store's identity and the number of a commit that certainly was in the database. */
export interface Mark {
  identity: string;
  commit: number;
}

/** A mark that was read. */
export interface ReadMark extends Mark {
  /** True if the commit must still be there. False if it was only written, and the machine may have restarted since. */
  isCertain: boolean;
}

/** Names the boot of the machine that a write survives without a sync; `unknown` if the system does not name it. */
export type Boot = string;

const synced = 'synced';
const unknown = 'unknown';
/** The length of a boot's name on Linux, in characters. */
const bootLength = 36;

/** Returns the name of the present boot of the machine. */
export function presentBoot(): Boot {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, bootLength) || unknown;
  } catch {
    return unknown;
  }
}

/**
 * A small file beside the database that names the last commit which the database is known to have. SQLite ends its log silently where the
 * log is damaged, so that the database alone can't tell that it once held more. The file is written after syncs; if nothing is synced, it
 * is written once a second with the boot of the machine. Only its first mark is synced: after a power cut it may be older than the
 * database, but it is never absent and never newer.
 */
export class DurableMark {
  readonly #file: string;
  readonly #handle: number;

  /** `file` is the mark's own file. Read the mark first: the file is written from its start. */
  constructor(file: string) {
    this.#file = file;
    // It is opened without being truncated, so that it keeps its mark until the next one is written.
    this.#handle = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** Writes the first mark and syncs it. Throws the error of the file system: a store without a mark is refused later. */
  start(mark: Mark): void {
    writeSync(this.#handle, textOf(mark, synced), 0);
    fdatasyncSync(this.#handle);
    syncDirectory(dirname(this.#file));
  }

  /**
   * Writes the mark. `boot` is given if the commit was written in that boot and not synced. If the write fails, the mark stays older, which
   * is safe: the store itself will find the problem of the medium.
   */
  write(mark: Mark, boot: Boot = synced): void {
    try {
      writeSync(this.#handle, textOf(mark, boot), 0);
    } catch {}
  }

  close(): void {
    closeSync(this.#handle);
  }
}

/** Returns the file of a database's mark. */
export function markFile(database: string): string {
  return `${database}.mark`;
}

/** Reads the mark in a file. Returns `undefined` if there is none, or none that can be read. */
export function readMark(file: string, boot: Boot): ReadMark | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const [identity = '', commit, state = ''] = text.split(/ +/);
  const mark = { identity, commit: Number(commit) };
  if (textOf(mark, state) !== text) return undefined;
  return { ...mark, isCertain: state === synced || (state === boot && boot !== unknown) };
}

/** Returns the text of a mark. All texts have the same length, so that each replaces the one before. */
function textOf({ identity, commit }: Mark, state: Boot): string {
  const checksum = rowChecksum(identity, commit, state);
  const fields = [
    String(commit).padStart(16, '0'),
    state.padEnd(bootLength),
    String(checksum).padStart(10, '0'),
  ];
  return `${identity} ${fields.join(' ')}\n`;
}
