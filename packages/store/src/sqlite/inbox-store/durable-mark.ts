import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { rowChecksum } from '../row-checksum.ts';

/** What is known to be on the disk: the store's identity, and the number of a commit. */
export interface Mark {
  identity: string;
  commit: number;
}

/**
 * A small file beside the database, which says up to which commit the database is known to be on the disk. SQLite ends its log
 * silently where it is damaged, so that the database alone can't tell that it once held more. The file is written after each sync and
 * is not synced itself: after a power cut it may be older than the database, but it is never newer.
 */
export class DurableMark {
  readonly #handle: number;

  /** `file` is the mark's own. Read it first: it is written from its start. */
  constructor(file: string) {
    // Opened without truncating it: until it is written again, it says what it said.
    this.#handle = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** Writes the mark. If that fails, it stays older, which is safe: the store itself will find what is wrong with the medium. */
  write(mark: Mark): void {
    try {
      writeSync(this.#handle, textOf(mark), 0);
    } catch {}
  }

  close(): void {
    closeSync(this.#handle);
  }
}

/** The file of a database's mark. */
export function markFile(database: string): string {
  return `${database}.mark`;
}

/** Reads the mark in a file; undefined if there is none, or none that can be read. */
export function readMark(file: string): Mark | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const [identity, commit] = text.split(' ');
  const mark = { identity: identity ?? '', commit: Number(commit) };
  return textOf(mark) === text ? mark : undefined;
}

/** Always of the same length, so that each text replaces the one before. */
function textOf({ identity, commit }: Mark): string {
  const checksum = rowChecksum(identity, commit);
  return `${identity} ${String(commit).padStart(16, '0')} ${String(checksum).padStart(10, '0')}\n`;
}
