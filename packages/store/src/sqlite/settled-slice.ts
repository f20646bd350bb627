import type { Database, Statement } from 'better-sqlite3';
import type { FoundMessage, Outcome } from '../inbox-store.ts';
import { endOfPrefix, IdRanges } from './id-ranges.ts';

/** The metadata that outlives a message. `size` is that of the body it had. */
export interface SettledMessage {
  id: string;
  inbox: string;
  sender: string;
  senderAddress: string;
  kind: string;
  correlationId: string | null;
  seq: number;
  size: number;
  createdAt: number;
}

/** A row of the table `slice`. `closedAt` is null for the one that is written to. `bytes` is an estimate. */
export interface SliceRow {
  number: number;
  openedAt: number;
  closedAt: number | null;
  bytes: number;
}

type Key = [id: string, inbox: string, sender: string];
type FoundSettled = FoundMessage & { outcome: Outcome };

/** Fixed costs of a row: the numbers, the outcome, headers, and what a page leaves empty. */
const rowOverheadBytes = 60;

/** One table of settled messages, all settled within the same stretch of time. */
export class SettledSlice {
  readonly number: number;
  readonly openedAt: number;
  closedAt: number | null;
  bytes: number;
  readonly ids: IdRanges;
  readonly #insert: Statement<(string | number | null)[]>;
  readonly #find: Statement<Key, FoundSettled>;

  constructor(db: Database, row: SliceRow) {
    this.number = row.number;
    this.openedAt = row.openedAt;
    this.closedAt = row.closedAt;
    this.bytes = row.bytes;
    const table = sliceTable(row.number);
    this.ids = readIdRanges(db, table);
    // A conflict cannot happen; were it to, it must not block every commit from then on.
    this.#insert = db.prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#find = db.prepare<Key, FoundSettled>(
      `SELECT seq, kind, sender_address AS senderAddress, outcome FROM ${table} WHERE id = ? AND inbox = ? AND sender = ?`,
    );
  }

  add(message: SettledMessage, outcome: Outcome, reason: string | null, now: number): void {
    const { id, inbox, sender, senderAddress, kind, correlationId, seq, size, createdAt } = message;
    const ids = [id, inbox, sender, senderAddress, kind, correlationId] as const;
    this.#insert.run(...ids, seq, size, createdAt, now, outcome, reason);
    this.ids.add(id);
    for (const text of ids) this.bytes += text?.length ?? 0;
    this.bytes += rowOverheadBytes + (reason?.length ?? 0);
  }

  find(id: string, inbox: string, sender: string): FoundSettled | undefined {
    return this.ids.mayHold(id) ? this.#find.get(id, inbox, sender) : undefined;
  }
}

/** Must be called within a transaction that also adds the row to `slice`. */
export function createSliceTable(db: Database, number: number): void {
  db.exec(`
    CREATE TABLE ${sliceTable(number)} (
      id TEXT NOT NULL,
      inbox TEXT NOT NULL,
      sender TEXT NOT NULL,
      sender_address TEXT NOT NULL,
      kind TEXT NOT NULL,
      correlation_id TEXT,
      seq INTEGER NOT NULL,
      size INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      settled_at INTEGER NOT NULL,
      outcome TEXT NOT NULL,
      reason TEXT,
      PRIMARY KEY (id, inbox, sender)
    ) WITHOUT ROWID`);
}

export function dropSliceTable(db: Database, number: number): void {
  db.exec(`DROP TABLE ${sliceTable(number)}`);
}

export function sliceTable(number: number): string {
  return `settled_${number}`;
}

/** Two index look-ups per prefix instead of a scan, so that opening a large store stays quick. */
function readIdRanges(db: Database, table: string): IdRanges {
  const ranges = new IdRanges();
  const first = db.prepare<[string], string | null>(`SELECT min(id) FROM ${table} WHERE id > ?`).pluck();
  const last = db.prepare<[string], string | null>(`SELECT max(id) FROM ${table} WHERE id <= ?`).pluck();
  for (let after = '', min = first.get(after); min != null; min = first.get(after)) {
    after = endOfPrefix(min);
    ranges.add(min);
    ranges.add(last.get(after) ?? min);
  }
  return ranges;
}
