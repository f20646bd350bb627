import type { Database, Statement } from 'better-sqlite3';
import { emptyLog, isBusy, isOutOfRoom, logBytes, maxLogBytes } from './database.ts';

const MiB = 1024 * 1024;
/** The value of `auto_vacuum` in files that can shrink. */
const incremental = 2;
const everyMs = 1000;
/** Moving this many pages takes less than a millisecond. */
const pagesAtOnce = 64;
/** The time for which pages are moved if nothing changed the database since the step before, in milliseconds. */
const quietMs = 8;
/** A file with fewer free bytes, or a smaller part of them, keeps them: what is stored next uses them again. */
const worthBytes = 8 * MiB;
const worthPart = 0.25;

/**
 * Gives the free pages of a database back to the disk, in a step each second until the database is closed. There is no step while
 * `isPaused` returns true.
 */
export function shrinkWhileOpen(db: Database, file: string, isPaused: () => boolean = () => false): void {
  // Files that other programs made may lack the pages that tell where a page can be moved.
  if (db.pragma('auto_vacuum', { simple: true }) !== incremental) return;
  const shrinker = new FileShrinker(db, file);
  const timer = setInterval(() => {
    if (!db.open || (!isPaused() && !shrinker.step())) clearInterval(timer);
  }, everyMs);
  timer.unref();
}

/**
 * Gives the free pages of a database back to the disk in steps that hold nobody up. SQLite moves pages from the end of the file into free
 * ones, and a checkpoint then cuts the end off (https://sqlite.org/pragma.html#pragma_incremental_vacuum). Some pages stay free, so that
 * the file of a busy store does not shrink and grow all the time.
 */
export class FileShrinker {
  readonly #db: Database;
  readonly #file: string;
  readonly #monotonic: () => number;
  readonly #pageBytes: number;
  readonly #total: Statement<[], number>;
  readonly #free: Statement<[], number>;
  readonly #changesEver: Statement<[], number>;
  /** The number of changes at the previous step. */
  #changes = -1;
  #isShrinking = false;

  constructor(db: Database, file: string, monotonic: () => number = () => performance.now()) {
    this.#db = db;
    this.#file = file;
    this.#monotonic = monotonic;
    this.#pageBytes = db.pragma('page_size', { simple: true }) as number;
    this.#total = db.prepare<[], number>('PRAGMA page_count').pluck();
    this.#free = db.prepare<[], number>('PRAGMA freelist_count').pluck();
    this.#changesEver = db.prepare<[], number>('SELECT total_changes()').pluck();
  }

  /**
   * Does a step: a longer one if nothing changed the database since the previous one. Returns false if later ones can't succeed either,
   * because the file is damaged. The next read or write that meets the damage reports it.
   */
  step(): boolean {
    try {
      this.#step();
      return true;
    } catch (thrown) {
      // A TypeError means that a result of this connection is still being read.
      return isOutOfRoom(thrown) || isBusy(thrown) || thrown instanceof TypeError;
    }
  }

  #step(): void {
    const changes = this.#changesEver.get()!;
    const isQuiet = changes === this.#changes;
    this.#changes = changes;
    if (this.#db.inTransaction) return;
    const log = logBytes(this.#file);
    // As long as another program reads the database, for example a backup, the log only grows.
    if (log <= maxLogBytes && this.#isWorthIt()) this.#shrink(isQuiet ? quietMs : 0);
    else if (isQuiet && (this.#isShrinking || log > worthBytes)) this.#isShrinking = !emptyLog(this.#db);
  }

  #isWorthIt(): boolean {
    if (this.#isShrinking) return this.#free.get()! > this.#keptPages;
    const [total, free] = [this.#total.get()!, this.#free.get()!];
    this.#isShrinking = free * this.#pageBytes > worthBytes && free > total * worthPart;
    return this.#isShrinking;
  }

  /** The free pages that the file keeps. */
  get #keptPages(): number {
    return worthBytes / 2 / this.#pageBytes + (this.#total.get()! - this.#free.get()!) / 8;
  }

  #shrink(forMs: number): void {
    const until = this.#monotonic() + forMs;
    // A wait for a lock would hold everybody up.
    const timeoutMs = this.#db.pragma('busy_timeout', { simple: true });
    try {
      this.#db.pragma('busy_timeout = 0');
      do this.#db.exec(`PRAGMA incremental_vacuum(${pagesAtOnce})`);
      while (this.#monotonic() < until && this.#free.get()! > this.#keptPages);
    } finally {
      this.#db.pragma(`busy_timeout = ${timeoutMs}`);
    }
  }
}
