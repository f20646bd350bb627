import type { HoldRecord } from '../token-store.ts';
import { rowChecksum } from './row-checksum.ts';

/** The table of holds. */
export const holdSchema = `CREATE TABLE hold (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    by TEXT NOT NULL,
    token_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    until INTEGER,
    cancels_running INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  );`;

/** Reads all holds, the oldest first. */
export const allHolds = `SELECT id, subject AS "on", name, reason, by, token_id AS tokenId, created_at AS createdAt, until,
    cancels_running AS cancelsRunning, checksum
  FROM hold ORDER BY created_at, id`;

/** A row of the table as it is read. */
export type HoldRow = Omit<HoldRecord, 'until' | 'cancelsRunning' | 'damaged'> & {
  until: number | null;
  cancelsRunning: number;
  checksum: number;
};

/** Returns the columns of a row in the order of the table, with the checksum last. */
export function holdColumns(record: HoldRecord): (string | number | null)[] {
  const { until = null, cancelsRunning, ...rest } = record;
  const columns = columnsOf({ ...rest, until, cancelsRunning: cancelsRunning ? 1 : 0 });
  return [...columns, rowChecksum(...columns)];
}

/** Tells whether a row matches its checksum. */
export function isSoundHold(row: HoldRow): boolean {
  return row.checksum === rowChecksum(...columnsOf(row));
}

/** Converts a row to its hold. */
export function toHold(row: HoldRow): HoldRecord {
  const { until, cancelsRunning, checksum: _checksum, ...rest } = row;
  return {
    ...rest,
    ...(until !== null && { until }),
    cancelsRunning: cancelsRunning === 1,
    ...(!isSoundHold(row) && { damaged: true as const }),
  };
}

function columnsOf(row: Omit<HoldRow, 'checksum'>): (string | number | null)[] {
  const { id, on, name, reason, by, tokenId, createdAt, until, cancelsRunning } = row;
  return [id, on, name, reason, by, tokenId, createdAt, until, cancelsRunning];
}
