import type { Database, Statement } from 'better-sqlite3';
import type { AuditEvent, AuditLog, AuditRow } from '../audit-log.ts';
import { readDatabase } from './backup/read-database.ts';
import { closeDatabase, openDatabase, toStoreError, usedBytesReader } from './database.ts';

const schema = `
  CREATE TABLE audit (
    minute INTEGER NOT NULL,
    token_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    code TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (minute, token_id, agent, code)
  ) WITHOUT ROWID;
`;

const minuteMs = 60_000;
const flushAfterMs = 1000;
const maxDetail = 500;
/** With so many rows the buffer is flushed at once, so that a flood of events does not fill the memory. */
const maxBuffered = 1000;

export interface SqliteAuditLogOptions {
  /** A file of its own, created when missing, readable by its owner only. */
  file: string;
  /** The oldest minutes are deleted when the log takes more; 64 MiB by default. */
  maxBytes?: number;
}

/** Opens the audit log. Rejects with a `StoreError`. On a full disk events are lost, but the caller is never stopped. */
export async function openSqliteAuditLog(options: SqliteAuditLogOptions): Promise<AuditLog> {
  const { file, maxBytes = 64 * 1024 * 1024 } = options;
  const database = { file, synchronous: 'normal', schema } as const;
  return openDatabase(database, (db) => new SqliteAuditLog(db, file, maxBytes));
}

/** `tokenId` and `agent` are empty where there was none, so that they can be part of the key. */
type Row = Required<AuditRow>;

class SqliteAuditLog implements AuditLog {
  readonly #db: Database;
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #usedBytes: () => number;
  readonly #upsert: Statement<[Row]>;
  readonly #query: Statement<[minute: number, since: number, limit: number], Row>;
  readonly #dropOldest: Statement<[]>;
  readonly #buffer = new Map<string, Row>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, file: string, maxBytes: number) {
    this.#db = db;
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#usedBytes = usedBytesReader(db);
    this.#upsert = db.prepare(
      `INSERT INTO audit VALUES (@minute, @tokenId, @agent, @code, @count, @firstAt, @lastAt, @detail)
       ON CONFLICT DO UPDATE SET count = count + excluded.count, first_at = min(first_at, excluded.first_at),
         last_at = max(last_at, excluded.last_at), detail = excluded.detail`,
    );
    this.#query = db.prepare(
      `SELECT minute, token_id AS tokenId, agent, code, count, first_at AS firstAt, last_at AS lastAt, detail
       FROM audit WHERE minute >= ? AND last_at >= ? ORDER BY minute, first_at LIMIT ?`,
    );
    this.#dropOldest = db.prepare('DELETE FROM audit WHERE minute = (SELECT min(minute) FROM audit)');
  }

  record(event: AuditEvent): void {
    this.#count(event);
    if (this.#buffer.size >= maxBuffered) this.#flushOrDrop();
    else this.#timer ??= setTimeout(() => this.#flushOrDrop(), flushAfterMs).unref();
  }

  async query(since: number, limit: number): Promise<AuditRow[]> {
    try {
      this.#flush();
      return this.#query.all(minuteOf(since), since, Math.max(limit, 0)).map(withoutBlanks);
    } catch (thrown) {
      throw toStoreError(thrown, this.#file);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#db.open) return;
    try {
      this.#flush();
    } finally {
      closeDatabase(this.#db);
    }
  }

  #count({ at, tokenId = '', agent = '', code, detail }: AuditEvent): void {
    const minute = minuteOf(at);
    const key = JSON.stringify([minute, tokenId, agent, code]);
    const row = this.#buffer.get(key);
    const cut = detail.slice(0, maxDetail);
    if (row) {
      row.count++;
      row.firstAt = Math.min(row.firstAt, at);
      row.lastAt = Math.max(row.lastAt, at);
      row.detail = cut;
      return;
    }
    this.#buffer.set(key, { minute, tokenId, agent, code, count: 1, firstAt: at, lastAt: at, detail: cut });
  }

  /** Flushes the buffer. If that fails, the process must neither end nor run out of memory. */
  #flushOrDrop(): void {
    try {
      this.#flush();
    } catch {
      if (this.#buffer.size >= maxBuffered) this.#buffer.clear();
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#buffer.size === 0) return;
    this.#db.transaction(() => {
      for (const row of this.#buffer.values()) this.#upsert.run(row);
      while (this.#usedBytes() > this.#maxBytes && this.#dropOldest.run().changes > 0);
    })();
    this.#buffer.clear();
  }
}

function minuteOf(at: number): number {
  return at - (at % minuteMs);
}

function withoutBlanks({ tokenId, agent, ...rest }: Row): AuditRow {
  return { ...rest, ...(tokenId !== '' && { tokenId }), ...(agent !== '' && { agent }) };
}

/** Reads every row of an audit log that nobody uses. Changes nothing. Throws a `StoreError`. */
export function verifyAuditLog(file: string): { problems: string[]; rows: number } {
  return readDatabase(file, (db, problems) => {
    let rows = 0;
    for (const _ of db.prepare('SELECT * FROM audit').iterate()) rows++;
    return { problems, rows };
  });
}
