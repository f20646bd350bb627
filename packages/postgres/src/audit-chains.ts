import type { AuditChain, AuditKind } from '@signalbox/store';

/** The ends of a chain, and the time of its last row. */
export interface TimedChain extends AuditChain {
  recordedAt: number;
}

/** The row of a chain. */
export interface ChainRow {
  kind: AuditKind;
  droppedNumber: number;
  droppedHash: string;
  lastNumber: number;
  lastHash: string;
  rows: number;
  bytes: number;
  recordedAt: number;
}

/** SQL for the columns of {@link ChainRow}. */
export const chainColumns = `kind, dropped_number AS "droppedNumber", dropped_hash AS "droppedHash", last_number AS "lastNumber",
  last_hash AS "lastHash", row_count AS rows, bytes, recorded_at AS "recordedAt"`;

/** Returns the chain of a row. */
export function chainOf(row: ChainRow): TimedChain {
  const { kind, droppedNumber, droppedHash, lastNumber, lastHash, rows, bytes, recordedAt } = row;
  return {
    kind,
    dropped: { number: droppedNumber, hash: droppedHash },
    last: { number: lastNumber, hash: lastHash },
    rows,
    bytes,
    recordedAt,
  };
}
