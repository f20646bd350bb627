import type { Database } from 'better-sqlite3';
import type { FoundMessage, Outcome } from '../inbox-store.ts';
import { IdRanges } from './id-ranges.ts';
import {
  createSliceTable,
  dropSliceTable,
  type SettledMessage,
  SettledSlice,
  type SliceRow,
  sliceTable,
} from './settled-slice.ts';

export interface SliceLimits {
  /** Settled messages are remembered at least this long. */
  dedupeWindowMs: number;
  /** After this they are forgotten, slice by slice. */
  retentionMs: number;
  /** Old slices go sooner when all of them take more than this, but never within the dedupe window. */
  retentionBytes: number;
  /** Age and size at which a slice is closed and the next one begun. */
  sliceMs: number;
  sliceBytes: number;
}

/** How much the recorded size of a slice may lag behind after a crash. */
const saveEveryBytes = 1024 * 1024;

/**
 * Settled messages in tables by time of settlement. Deleting row by row would cost as much as writing them; a table
 * is dropped whole. Only the newest one is written to.
 */
export class SettledSlices {
  readonly #db: Database;
  readonly #limits: SliceLimits;
  #current: SettledSlice;
  #savedBytes: number;
  /** Closed ones, oldest first. */
  readonly #closed: SettledSlice[];
  /** What any slice may hold: it rules most new messages out at once. */
  #ids = new IdRanges();

  constructor(db: Database, limits: SliceLimits, now: number) {
    this.#db = db;
    this.#limits = limits;
    const rows = db.prepare<[], SliceRow>(
      'SELECT number, opened_at AS openedAt, closed_at AS closedAt, bytes FROM slice ORDER BY number',
    );
    const slices = rows.all().map((row) => new SettledSlice(db, row));
    this.#current = slices.pop() ?? this.#begin(1, now);
    this.#closed = slices;
    this.#savedBytes = this.#current.bytes;
    this.#uniteIds();
  }

  /** Must be called within the transaction that deletes the message itself. */
  add(message: SettledMessage, outcome: Outcome, reason: string | null, now: number): void {
    this.#current.add(message, outcome, reason, now);
    this.#ids.add(message.id);
  }

  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    if (!this.#ids.mayHold(id)) return undefined;
    const current = this.#current.find(id, inbox, sender);
    if (current) return current;
    for (let at = this.#closed.length - 1; at >= 0; at--) {
      const found = this.#closed[at]?.find(id, inbox, sender);
      if (found) return found;
    }
    return undefined;
  }

  /** Numbers of the slices that may hold messages created at or after a time, oldest first. */
  numbersSince(since: number): number[] {
    return [...this.#closed, this.#current]
      .filter(({ closedAt }) => closedAt === null || closedAt >= since)
      .map(({ number }) => number);
  }

  /** False once a slice was dropped. */
  has(number: number): boolean {
    return number === this.#current.number || this.#closed.some((slice) => slice.number === number);
  }

  tableOf(number: number): string {
    return sliceTable(number);
  }

  /** A small step of housekeeping, in its own transactions: begins a new slice when that is due, drops one old one. */
  rotate(now: number): void {
    const current = this.#current;
    const { sliceMs, sliceBytes } = this.#limits;
    const isDue = now - current.openedAt >= sliceMs || current.bytes >= sliceBytes;
    if (isDue && current.bytes > 0) this.#replace(current, now);
    else if (current.bytes - this.#savedBytes >= saveEveryBytes) this.#saveBytes(current);
    const oldest = this.#closed[0];
    if (oldest && this.#isForgettable(oldest, now)) this.#drop(oldest);
  }

  #isForgettable({ closedAt }: SettledSlice, now: number): boolean {
    const { dedupeWindowMs, retentionMs, retentionBytes } = this.#limits;
    const age = now - (closedAt ?? now);
    if (age < dedupeWindowMs) return false;
    const bytes = this.#closed.reduce((sum, slice) => sum + slice.bytes, this.#current.bytes);
    return age >= retentionMs || bytes > retentionBytes;
  }

  #begin(number: number, now: number): SettledSlice {
    this.#db.transaction(() => {
      createSliceTable(this.#db, number);
      this.#db.prepare('INSERT INTO slice VALUES (?, ?, NULL, 0)').run(number, now);
    })();
    return new SettledSlice(this.#db, { number, openedAt: now, closedAt: null, bytes: 0 });
  }

  #replace(current: SettledSlice, now: number): void {
    const close = this.#db.prepare('UPDATE slice SET closed_at = ?, bytes = ? WHERE number = ?');
    this.#current = this.#db.transaction(() => {
      close.run(now, current.bytes, current.number);
      return this.#begin(current.number + 1, now);
    })();
    current.closedAt = now;
    this.#closed.push(current);
    this.#savedBytes = 0;
  }

  #saveBytes(current: SettledSlice): void {
    this.#db.prepare('UPDATE slice SET bytes = ? WHERE number = ?').run(current.bytes, current.number);
    this.#savedBytes = current.bytes;
  }

  #drop(oldest: SettledSlice): void {
    this.#db.transaction(() => {
      dropSliceTable(this.#db, oldest.number);
      this.#db.prepare('DELETE FROM slice WHERE number = ?').run(oldest.number);
    })();
    this.#closed.shift();
    this.#ids = new IdRanges();
    this.#uniteIds();
  }

  #uniteIds(): void {
    for (const slice of [...this.#closed, this.#current]) this.#ids.include(slice.ids);
  }
}
