import type { Database, Statement } from 'better-sqlite3';
import { firstHash } from '../../audit-chain.ts';
import { type AuditChain, type AuditKind, type AuditRow, auditKinds } from '../../audit-log.ts';
import type { ContentEntry } from '../../store-content.ts';

/** The kinds of events. Each has a table of its own: rows are only added at its end and dropped from its beginning. */
export const allKinds = Object.keys(auditKinds) as AuditKind[];

/** The number of rows that are read together. */
const rowsAtOnce = 256;

/** The tables of an audit log. */
export const schema = `
  ${allKinds
    .map(
      (kind) => `CREATE TABLE audit_${kind} (
    number INTEGER PRIMARY KEY,
    entry TEXT NOT NULL,
    hash TEXT NOT NULL
  );`,
    )
    .join('\n  ')}
  CREATE TABLE chain (
    kind TEXT PRIMARY KEY,
    dropped_number INTEGER NOT NULL,
    dropped_hash TEXT NOT NULL,
    last_number INTEGER NOT NULL,
    last_hash TEXT NOT NULL,
    row_count INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE batch (sender TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
`;

/** The row of a chain in the table of chains. */
export type ChainRow = Omit<AuditChain, 'dropped' | 'last' | 'rows'> & {
  dropped_number: number;
  dropped_hash: string;
  last_number: number;
  last_hash: string;
  row_count: number;
};

/** The statements on the tables that all kinds share. */
export interface SharedTables {
  chains: Statement<[], ChainRow>;
  keepChain: Statement<[ChainRow]>;
  lastBatch: Statement<[sender: string], string>;
  keepBatch: Statement<[sender: string, id: string]>;
}

/** Prepares the statements on the tables that all kinds share. */
export function sharedTables(db: Database): SharedTables {
  return {
    chains: db.prepare('SELECT * FROM chain'),
    keepChain: db.prepare(
      `INSERT OR REPLACE INTO chain VALUES
       (@kind, @dropped_number, @dropped_hash, @last_number, @last_hash, @row_count, @bytes)`,
    ),
    lastBatch: db.prepare<[sender: string], string>('SELECT id FROM batch WHERE sender = ?').pluck(),
    keepBatch: db.prepare('INSERT OR REPLACE INTO batch VALUES (?, ?)'),
  };
}

/** SQL for the time at which a row was recorded; NULL if its entry was replaced by something that is no entry. */
const recordedAt = "iif(json_valid(entry), coalesce(entry ->> 'recorded_at', entry ->> 'at'), NULL)";

/** Returns the bytes by which a row counts in the budget of its kind: its entry of `entryBytes`, its hash and its columns. */
export function rowBytes(entryBytes: number): number {
  return entryBytes + 90;
}

/** The statements on the table of one kind. */
export interface KindTable {
  insert: Statement<[number: number, entry: string, hash: string]>;
  lastNumber: Statement<[], number | null>;
  behind: Statement<[after: number, limit: number], AuditRow>;
  ahead: Statement<[before: number, after: number, limit: number], AuditRow>;
  lastRecordedAt: Statement<[], number | null>;
  timeBehind: Statement<[after: number], { number: number; recordedAt: number | null }>;
  oldest: Statement<[after: number, limit: number], { number: number; hash: string; length: number }>;
  drop: Statement<[upTo: number]>;
}

/** Prepares the statements on the table of a kind. */
export function kindTable(db: Database, kind: AuditKind): KindTable {
  const table = `audit_${kind}`;
  return {
    insert: db.prepare(`INSERT INTO ${table} VALUES (?, ?, ?)`),
    lastNumber: db.prepare<[], number | null>(`SELECT max(number) FROM ${table}`).pluck(),
    behind: rowsBehind(db, kind),
    ahead: db.prepare(
      `SELECT '${kind}' AS kind, number, entry, hash FROM ${table} WHERE number < ? AND number > ? ORDER BY number DESC LIMIT ?`,
    ),
    lastRecordedAt: db
      .prepare<[], number | null>(`SELECT ${recordedAt} FROM ${table} ORDER BY number DESC LIMIT 1`)
      .pluck(),
    timeBehind: db.prepare(
      `SELECT number, ${recordedAt} AS recordedAt FROM ${table} WHERE number > ? ORDER BY number LIMIT 1`,
    ),
    oldest: db.prepare(
      `SELECT number, hash, octet_length(entry) AS length FROM ${table} WHERE number > ? ORDER BY number LIMIT ?`,
    ),
    drop: db.prepare(`DELETE FROM ${table} WHERE number <= ?`),
  };
}

/** Prepares the statement that reads a kind's rows after a number. */
export function rowsBehind(
  db: Database,
  kind: AuditKind,
): Statement<[after: number, limit: number], AuditRow> {
  return db.prepare(
    `SELECT '${kind}' AS kind, number, entry, hash FROM audit_${kind} WHERE number > ? ORDER BY number LIMIT ?`,
  );
}

/** Reads all undamaged content of an audit log. */
export function* auditContent(db: Database): Iterable<ContentEntry> {
  for (const row of db.prepare<[], ChainRow>('SELECT * FROM chain').all())
    yield ['audit_chain', toChain(row)];
  for (const kind of allKinds) {
    const page = rowsBehind(db, kind);
    let rows: AuditRow[] = page.all(0, rowsAtOnce);
    for (; rows.length > 0; rows = page.all(rows.at(-1)!.number, rowsAtOnce))
      for (const row of rows) yield ['audit_row', row];
  }
  const batches = db.prepare<[], { sender: string; id: string }>('SELECT sender, id FROM batch');
  for (const batch of batches.all()) yield ['audit_batch', batch];
}

/** Returns the chain of a kind without any rows. */
export function emptyChain(kind: AuditKind): AuditChain {
  const none = { number: 0, hash: firstHash };
  return { kind, dropped: none, last: none, rows: 0, bytes: 0 };
}

/** Converts a row to its chain. */
export function toChain(row: ChainRow): AuditChain {
  return {
    kind: row.kind,
    dropped: { number: row.dropped_number, hash: row.dropped_hash },
    last: { number: row.last_number, hash: row.last_hash },
    rows: row.row_count,
    bytes: row.bytes,
  };
}

/** Converts a chain to its row. */
export function toRow({ kind, dropped, last, rows, bytes }: AuditChain): ChainRow {
  return {
    kind,
    dropped_number: dropped.number,
    dropped_hash: dropped.hash,
    last_number: last.number,
    last_hash: last.hash,
    row_count: rows,
    bytes,
  };
}
