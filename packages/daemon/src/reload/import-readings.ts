import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type ImportedText,
  type ImportPath,
  type Pointers,
  readImportedFile,
  readImportedFileInSteps,
} from '../config/internal.ts';

/** The time after which a file that is gone has no servers any more. Programs replace their files within a blink. */
const graceMs = 60_000;
/** A file may be written twice within one tick of its clock. */
const tickMs = 100;

/** A file of another client as it was read last. */
interface Reading {
  pointers: Pointers;
  /** Changes with the file; absent if the file may change without it. */
  stamp: string | undefined;
  read: ImportedText;
  /** Set while the file is gone; it then runs, or has run off. */
  grace: Grace | undefined;
}

interface Grace extends Disposable {
  readonly isOver: boolean;
}

/**
 * Keeps what was read last of the files of other clients. These may be large and change all the time, so one is read again only if it has
 * changed, and in short steps between which the process does its other work.
 */
export class ImportReadings implements Disposable {
  readonly #readings = new Map<string, Reading>();
  readonly #onLost: () => void;
  #isDisposed = false;

  /** `onLost` is called when a file has been gone for a minute. */
  constructor(onLost: () => void) {
    this.#onLost = onLost;
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.keepOnly([]);
  }

  /** Reads the files that may have changed since they were read, and those of these paths of `mcpConfig`. */
  async refresh(paths: readonly ImportPath[] = []): Promise<void> {
    const known = [...this.#readings].map(([file, { pointers }]) => [file, pointers] as const);
    const named = paths.map(({ file }) => {
      const pointers = paths.filter((path) => path.file === file).map(({ pointer }) => pointer);
      return [file, pointers] as const;
    });
    for (const [file, pointers] of new Map([...named, ...known])) await this.#refresh(file, pointers);
  }

  /** Forgets all files but those of these paths. */
  keepOnly(paths: readonly ImportPath[]): void {
    for (const [file, { grace }] of this.#readings) {
      if (paths.some((path) => path.file === file)) continue;
      grace?.[Symbol.dispose]();
      this.#readings.delete(file);
    }
  }

  /** Returns what a file held at the last refresh. One that is new is read at once. */
  get(file: string, pointers: Pointers): ImportedText {
    const known = this.#readings.get(file);
    if (known && isDeepStrictEqual(known.pointers, pointers)) return known.read;
    return this.#take(file, pointers, undefined, readImportedFile(file, pointers));
  }

  /** Returns the hash of what a file held at the last refresh, or why it could not be read; nothing for other files. */
  stateOf(file: string): string | undefined {
    return this.#readings.get(file)?.read.state;
  }

  /** Returns true if a file is gone; with `for a minute`, only if it has been gone for that long. */
  isGone(file: string, how: 'now' | 'for a minute'): boolean {
    const grace = this.#readings.get(file)?.grace;
    return grace !== undefined && (how === 'now' || grace.isOver);
  }

  async #refresh(file: string, pointers: Pointers): Promise<void> {
    const stamp = await stampOf(file);
    if (stamp !== undefined && this.#readings.get(file)?.stamp === stamp) return;
    this.#take(file, pointers, stamp, await readImportedFileInSteps(file, pointers));
  }

  #take(file: string, pointers: Pointers, stamp: string | undefined, read: ImportedText): ImportedText {
    const isGone = 'isGone' in read && read.isGone && !this.#isDisposed;
    const before = this.#readings.get(file)?.grace;
    if (!isGone) before?.[Symbol.dispose]();
    const grace = isGone ? (before ?? startGrace(this.#onLost)) : undefined;
    this.#readings.set(file, { pointers, stamp, read, grace });
    return read;
  }
}

function startGrace(onOver: () => void): Grace {
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    onOver();
  }, graceMs).unref();
  return {
    get isOver() {
      return isOver;
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** Returns a text that changes with the file; nothing if the file can't be found, or changed just now. */
async function stampOf(file: string): Promise<string | undefined> {
  let stats: BigIntStats;
  try {
    stats = await stat(file, { bigint: true });
  } catch {
    return undefined;
  }
  const { dev, ino, size, mode, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
  if (Date.now() - Math.max(Number(mtimeMs), Number(ctimeMs)) < tickMs) return undefined;
  return [dev, ino, size, mode, mtimeNs, ctimeNs].join(':');
}
