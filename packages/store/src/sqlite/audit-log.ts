import { statSync } from 'node:fs';
import type { Database, Statement } from 'better-sqlite3';
import { AuditChainCheck, auditRow, type CountedEvent, firstHash } from '../audit-chain.ts';
import {
  type AuditChain,
  type AuditEvent,
  type AuditKind,
  type AuditLog,
  type AuditQuery,
  type AuditRow,
  auditKinds,
} from '../audit-log.ts';
import type { Damage } from '../damage.ts';
import { MergedEvents } from '../merged-events.ts';
import { StoreError } from '../store-error.ts';
import { readDatabase } from './backup/read-database.ts';
import { closeDatabase, openDatabase, requireSound, setAside, toStoreError } from './database.ts';

/** The kinds of events, each with a table of its own: rows are only ever added at the end of it and dropped from its beginning. */
const kinds = Object.keys(auditKinds) as AuditKind[];

const schema = `
  ${kinds
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

const flushAfterMs = 1000;
const mergeForMs = 60_000;
/** The number of waiting events at which they are written at once. */
const maxWaiting = 256;
/** The most events that are kept while the disk takes none. */
const maxKept = 4096;
/** A larger log is not read at every start: damage in its older pages is found when they are read. */
const maxCheckedBytes = 64 * 1024 * 1024;
/** What a row takes besides its entry: its hash and its columns. */
const rowBytes = 90;
/** The rows that are looked at together when rows are dropped. */
const droppedAtOnce = 256;

export interface SqliteAuditLogOptions {
  /** A file of its own, created when missing, readable by its owner only. */
  file: string;
  /** Budgets that differ from those of `auditKinds`. */
  maxBytes?: Partial<Record<AuditKind, number>>;
  /** Returns epoch milliseconds. */
  now?: () => number;
  /** Called with damage that the log goes on with. */
  onDamage?: (damage: Damage) => void;
  /** Called when events could not be written; they are tried again. */
  onError?: (error: unknown) => void;
}

/**
 * Opens the audit log. Rejects with a `StoreError`. A log that is damaged is set aside and reported, and a new one is begun: it is no
 * reason to deliver nothing.
 */
export async function openSqliteAuditLog(options: SqliteAuditLogOptions): Promise<AuditLog> {
  const { file, onDamage = () => {}, now = Date.now } = options;
  const database = { file, synchronous: 'normal', schema } as const;
  const open = (): AuditLog =>
    openDatabase(database, (db) => {
      if (statSync(file).size <= maxCheckedBytes) requireSound(db, file);
      return new SqliteAuditLog(db, options);
    });
  try {
    return open();
  } catch (thrown) {
    if (!(thrown instanceof StoreError) || thrown.code !== 'store_corrupt') throw thrown;
    const aside = setAside(file, now());
    const detail = `${file} was damaged and is kept as ${aside}; a new audit log was begun`;
    onDamage({ what: 'audit', detail });
    return open();
  }
}

type ChainRow = Omit<AuditChain, 'dropped' | 'last' | 'rows'> & {
  dropped_number: number;
  dropped_hash: string;
  last_number: number;
  last_hash: string;
  row_count: number;
};

/** The ends of a chain, and the time of its last row. */
interface TimedChain extends AuditChain {
  recordedAt: number;
}

class SqliteAuditLog implements AuditLog {
  readonly #db: Database;
  readonly #options: SqliteAuditLogOptions;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #tables: Readonly<Record<AuditKind, KindTable>>;
  readonly #chains: Map<AuditKind, TimedChain>;
  readonly #merged = new MergedEvents();
  #waiting: CountedEvent[] = [];
  /** True from a failed write until the next one that succeeds. Until then only the timer tries again. */
  #isFailing = false;
  /** The number of events that were given up because the disk took none. */
  #lost = 0;
  #number: number;
  /** The time of the last row. It never runs backward, so that rows are found by it. */
  #recordedAt: number;
  #flushTimer: NodeJS.Timeout | undefined;
  #mergeTimer: NodeJS.Timeout | undefined;

  constructor(db: Database, options: SqliteAuditLogOptions) {
    this.#db = db;
    this.#options = options;
    this.#statements = prepare(db);
    this.#tables = Object.fromEntries(kinds.map((kind) => [kind, kindTable(db, kind)])) as Record<
      AuditKind,
      KindTable
    >;
    this.#chains = new Map(kinds.map((kind) => [kind, { ...emptyChain(kind), recordedAt: 0 }]));
    for (const row of this.#statements.chains.all()) {
      const recordedAt = this.#tables[row.kind].lastRecordedAt.get() ?? 0;
      this.#chains.set(row.kind, { ...toChain(row), recordedAt });
    }
    this.#recordedAt = Math.max(...[...this.#chains.values()].map((chain) => chain.recordedAt));
    const numbers = kinds.map((kind) => this.#tables[kind].lastNumber.get() ?? 0);
    this.#number = Math.max(...numbers, ...[...this.#chains.values()].map(({ last }) => last.number));
  }

  record(event: AuditEvent): void {
    this.#waiting.push(...(event.merged ? this.#merged.add(event) : [event]));
    if (!this.#merged.isEmpty) this.#mergeTimer ??= setTimeout(() => this.#endMerging(), mergeForMs).unref();
    if (this.#isFailing) this.#giveUpOldest();
    else if (event.kind === 'change') this.#tryWrite('full');
    else if (this.#waiting.length >= maxWaiting) this.#tryWrite();
    else if (this.#waiting.length > 0)
      this.#flushTimer ??= setTimeout(() => this.#tryWrite(), flushAfterMs).unref();
  }

  recordBatch({ from, id }: { from: string; id: string }, events: readonly AuditEvent[]): boolean {
    return this.#attempt(() => {
      if (this.#statements.lastBatch.get(from) === id) return false;
      const merged = events.flatMap((event) => (event.merged ? this.#merged.add(event) : [event]));
      if (!this.#merged.isEmpty)
        this.#mergeTimer ??= setTimeout(() => this.#endMerging(), mergeForMs).unref();
      const isSynced = events.some(({ kind }) => kind === 'change');
      this.#write(merged, isSynced ? 'full' : 'normal', () => this.#statements.keepBatch.run(from, id));
      return true;
    });
  }

  read({ since, kinds, after = 0, limit }: AuditQuery): AuditRow[] {
    return this.#attempt(() => {
      this.#flush();
      const found = kinds.flatMap((kind) => {
        const from = Math.max(after, this.#numberBefore(kind, since));
        return this.#tables[kind].behind.all(from, limit);
      });
      return found.sort((a, b) => a.number - b.number).slice(0, limit);
    });
  }

  readChain(kind: AuditKind, after: number, limit: number): { rows: AuditRow[]; chain: AuditChain } {
    return this.#attempt(() => {
      this.#flush();
      const { recordedAt: _, ...chain } = this.#chains.get(kind)!;
      return { rows: this.#tables[kind].behind.all(after, limit), chain };
    });
  }

  usedPart(kind: AuditKind): number {
    return this.#chains.get(kind)!.bytes / this.#maxBytes(kind);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#db.open) return;
    clearTimeout(this.#mergeTimer);
    try {
      this.#attempt(() => this.#flush());
    } finally {
      clearTimeout(this.#flushTimer);
      closeDatabase(this.#db);
    }
  }

  #maxBytes(kind: AuditKind): number {
    return this.#options.maxBytes?.[kind] ?? auditKinds[kind].maxBytes;
  }

  #endMerging(): void {
    this.#mergeTimer = undefined;
    this.#waiting.push(...this.#merged.takeAll());
    this.#tryWrite();
  }

  /** Returns a number behind which the rows of a kind are that were recorded at or after a time. */
  #numberBefore(kind: AuditKind, since: number): number {
    const { dropped, last, recordedAt } = this.#chains.get(kind)!;
    if (recordedAt < since) return last.number;
    let [before, upTo] = [dropped.number, last.number];
    while (upTo - before > 1) {
      const middle = Math.floor((before + upTo) / 2);
      const row = this.#tables[kind].timeBehind.get(middle);
      if (row?.recordedAt != null && row.recordedAt < since) before = row.number;
      else upTo = middle;
    }
    return before;
  }

  /** Writes everything that was recorded, and ends the counting of merged events. */
  #flush(): void {
    clearTimeout(this.#mergeTimer);
    this.#mergeTimer = undefined;
    this.#waiting.push(...this.#merged.takeAll());
    this.#writeWaiting('normal');
  }

  /** Writes the events that wait. If that fails, the process must neither end nor run out of memory. */
  #tryWrite(synchronous: 'normal' | 'full' = 'normal'): void {
    try {
      this.#writeWaiting(synchronous);
    } catch (error) {
      this.#isFailing = true;
      this.#giveUpOldest();
      this.#flushTimer ??= setTimeout(() => this.#tryWrite(), flushAfterMs).unref();
      this.#options.onError?.(error);
    }
  }

  /** A change is given up only when nothing but changes waits. */
  #giveUpOldest(): void {
    while (this.#waiting.length > maxKept) {
      const oldest = this.#waiting.findIndex(({ kind }) => !auditKinds[kind].kept);
      this.#waiting.splice(Math.max(0, oldest), 1);
      this.#lost++;
    }
  }

  #writeWaiting(synchronous: 'normal' | 'full'): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#waiting.length === 0) return;
    const lost = this.#lost === 0 ? [] : [this.#lossOf(this.#lost)];
    this.#write([...lost, ...this.#waiting], synchronous);
    this.#waiting = [];
    this.#lost = 0;
    this.#isFailing = false;
  }

  #lossOf(count: number): CountedEvent {
    const at = (this.#options.now ?? Date.now)();
    const detail = 'events could not be written, because the disk took none';
    return { kind: 'loss', at, code: 'audit_events_lost', detail, count };
  }

  /** Writes events in one transaction, with what `also` writes. With `full` they are on disk when this returns. */
  #write(events: readonly CountedEvent[], synchronous: 'normal' | 'full', also?: () => void): void {
    const chains = new Map<AuditKind, TimedChain>();
    const recordedAt = Math.max(this.#recordedAt, (this.#options.now ?? Date.now)());
    let number = this.#number;
    if (synchronous === 'full') this.#db.pragma('synchronous = full');
    try {
      this.#db.transaction(() => {
        for (const event of events) {
          let chain = chains.get(event.kind);
          if (!chain) {
            const before = this.#chains.get(event.kind)!;
            chain = { ...before, recordedAt };
            chains.set(event.kind, chain);
          }
          this.#append(event, ++number, chain);
        }
        for (const chain of chains.values()) {
          this.#trim(chain);
          this.#statements.keepChain.run(toRow(chain));
        }
        also?.();
      })();
    } finally {
      if (synchronous === 'full') this.#db.pragma('synchronous = normal');
    }
    this.#number = number;
    this.#recordedAt = recordedAt;
    for (const [kind, chain] of chains) this.#chains.set(kind, chain);
  }

  #append(event: CountedEvent, number: number, chain: TimedChain): void {
    const { recordedAt, last } = chain;
    const { entry, hash } = auditRow(event, { number, recordedAt, previous: last.hash });
    this.#tables[event.kind].insert.run(number, entry, hash);
    chain.last = { number, hash };
    chain.rows++;
    chain.bytes += Buffer.byteLength(entry) + rowBytes;
  }

  /** Drops the oldest rows of a chain until it is within its budget. What remains follows the last row that was dropped. */
  #trim(chain: TimedChain): void {
    if (auditKinds[chain.kind].kept) return;
    const maxBytes = this.#maxBytes(chain.kind);
    const { oldest, drop } = this.#tables[chain.kind];
    while (chain.bytes > maxBytes) {
      for (const { number, hash, length } of oldest.all(chain.dropped.number, droppedAtOnce)) {
        if (chain.bytes <= maxBytes || number === chain.last.number) break;
        chain.dropped = { number, hash };
        chain.rows--;
        chain.bytes -= length + rowBytes;
      }
      if (drop.run(chain.dropped.number).changes === 0) break;
    }
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (thrown) {
      throw toStoreError(thrown, this.#options.file);
    }
  }
}

function prepare(db: Database) {
  return {
    chains: db.prepare<[], ChainRow>('SELECT * FROM chain'),
    keepChain: db.prepare<[ChainRow]>(
      `INSERT OR REPLACE INTO chain VALUES
       (@kind, @dropped_number, @dropped_hash, @last_number, @last_hash, @row_count, @bytes)`,
    ),
    lastBatch: db.prepare<[sender: string], string>('SELECT id FROM batch WHERE sender = ?').pluck(),
    keepBatch: db.prepare<[sender: string, id: string]>('INSERT OR REPLACE INTO batch VALUES (?, ?)'),
  };
}

/** SQL for the time at which a row was recorded; NULL if its entry was changed into something else. */
const recordedAt = "iif(json_valid(entry), coalesce(entry ->> 'recorded_at', entry ->> 'at'), NULL)";

type KindTable = ReturnType<typeof kindTable>;

/** Prepares the statements on the table of a kind. */
function kindTable(db: Database, kind: AuditKind) {
  const table = `audit_${kind}`;
  return {
    insert: db.prepare<[number: number, entry: string, hash: string]>(
      `INSERT INTO ${table} VALUES (?, ?, ?)`,
    ),
    lastNumber: db.prepare<[], number | null>(`SELECT max(number) FROM ${table}`).pluck(),
    behind: rowsBehind(db, kind),
    lastRecordedAt: db
      .prepare<[], number | null>(`SELECT ${recordedAt} FROM ${table} ORDER BY number DESC LIMIT 1`)
      .pluck(),
    timeBehind: db.prepare<[after: number], { number: number; recordedAt: number | null }>(
      `SELECT number, ${recordedAt} AS recordedAt FROM ${table} WHERE number > ? ORDER BY number LIMIT 1`,
    ),
    oldest: db.prepare<[after: number, limit: number], { number: number; hash: string; length: number }>(
      `SELECT number, hash, octet_length(entry) AS length FROM ${table} WHERE number > ? ORDER BY number LIMIT ?`,
    ),
    drop: db.prepare<[upTo: number]>(`DELETE FROM ${table} WHERE number <= ?`),
  };
}

function rowsBehind(db: Database, kind: AuditKind): Statement<[after: number, limit: number], AuditRow> {
  return db.prepare(
    `SELECT '${kind}' AS kind, number, entry, hash FROM audit_${kind} WHERE number > ? ORDER BY number LIMIT ?`,
  );
}

function emptyChain(kind: AuditKind): AuditChain {
  const none = { number: 0, hash: firstHash };
  return { kind, dropped: none, last: none, rows: 0, bytes: 0 };
}

function toChain(row: ChainRow): AuditChain {
  return {
    kind: row.kind,
    dropped: { number: row.dropped_number, hash: row.dropped_hash },
    last: { number: row.last_number, hash: row.last_hash },
    rows: row.row_count,
    bytes: row.bytes,
  };
}

function toRow({ kind, dropped, last, rows, bytes }: AuditChain): ChainRow {
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

/** Reads every row of an audit log that nobody uses, and checks its chains. Changes nothing. Throws a `StoreError`. */
export function verifyAuditLog(file: string): { problems: string[]; rows: number } {
  return readDatabase(file, schema, (db, problems) => {
    let rows = 0;
    const known = new Map(
      db
        .prepare<[], ChainRow>('SELECT * FROM chain')
        .all()
        .map((row) => [row.kind, row]),
    );
    for (const kind of kinds) {
      const row = known.get(kind);
      const chain = row ? toChain(row) : emptyChain(kind);
      const page = rowsBehind(db, kind);
      const check = new AuditChainCheck();
      let problem: string | undefined;
      let read: AuditRow[];
      do {
        read = page.all(Math.max(check.after, chain.dropped.number), droppedAtOnce);
        rows += read.length;
        problem = check.check(read, chain, read.length < droppedAtOnce);
      } while (problem === undefined && read.length === droppedAtOnce);
      if (problem !== undefined) problems.push(problem);
    }
    return { problems, rows };
  });
}
