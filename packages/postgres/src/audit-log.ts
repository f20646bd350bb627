import type { AuditChain, AuditEvent, AuditKind, AuditLog, AuditRow } from '@signalbox/store';
import {
  AuditBuffer,
  type AuditQuery,
  auditKinds,
  auditRow,
  type CountedEvent,
  firstHash,
} from '@signalbox/store/rules';
import { type ChainRow, chainColumns, chainOf, type TimedChain } from './audit-chains.ts';
import type { Transaction } from './database/attempt.ts';
import { otherRows, type PostgresDatabase } from './database/database.ts';
import type { Statement } from './database/statement.ts';

/** The bytes by which a row counts in the budget of its kind, besides its entry. */
const rowOverheadBytes = 90;
/** The number of rows that are examined together when rows are dropped. */
const droppedAtOnce = 256;

const allKinds = Object.keys(auditKinds) as AuditKind[];

export interface PostgresAuditLogOptions {
  /** An open database, which outlives the log. */
  database: PostgresDatabase;
  /** Budgets that differ from those of `auditKinds`. */
  maxBytes?: Partial<Record<AuditKind, number>>;
  /** Returns epoch milliseconds. */
  now?: () => number;
  /** Called when events could not be written; they are tried again. */
  onError?: (error: unknown) => void;
}

/** An audit log that can write an event together with a change of the same database. */
export interface PostgresAuditLog extends AuditLog {
  /** Writes events as a part of a transaction. The returned function must be called after the commit. */
  append(transaction: Transaction, events: readonly AuditEvent[]): Promise<() => void>;
}

/** Opens the audit log of a database. Rejects with a `StoreError`. */
export async function openPostgresAuditLog(options: PostgresAuditLogOptions): Promise<PostgresAuditLog> {
  const log = new ChainedAuditLog(options);
  await log.start();
  return log;
}

/**
 * The audit log in a database. All brokers continue the same chains: each transaction locks the ends of the chains, and draws its numbers
 * and its time after that.
 */
class ChainedAuditLog implements PostgresAuditLog {
  readonly #options: PostgresAuditLogOptions;
  readonly #database: PostgresDatabase;
  readonly #buffer: AuditBuffer;
  /** The bytes of each kind when this broker last wrote or read them. */
  readonly #bytes = new Map<AuditKind, number>();
  readonly #make: Statement;
  readonly #lock: Statement;
  readonly #insert: Statement;
  readonly #keepChain: Statement;
  readonly #oldest: Statement;
  readonly #drop: Statement;
  readonly #lastBatch: Statement;
  readonly #keepBatch: Statement;
  readonly #read: Statement;
  readonly #readBack: Statement;
  readonly #page: Statement;

  constructor(options: PostgresAuditLogOptions) {
    const { database } = options;
    this.#options = options;
    this.#database = database;
    this.#buffer = new AuditBuffer({
      write: (events) => this.#write(events).then(() => {}),
      now: options.now ?? Date.now,
      onError: (error) => options.onError?.(error),
    });
    this.#make = database.statement(
      `INSERT INTO @audit_chain SELECT kind, 0, $2, 0, $2, 0, 0, 0 FROM unnest($1::text[]) AS k(kind) ORDER BY kind ON CONFLICT DO NOTHING`,
    );
    this.#lock = database.statement(`SELECT ${chainColumns} FROM @audit_chain ORDER BY kind FOR UPDATE`);
    this.#insert = database.statement(
      'INSERT INTO @audit SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])',
    );
    this.#keepChain = database.statement(
      `UPDATE @audit_chain SET dropped_number = $2, dropped_hash = $3, last_number = $4, last_hash = $5, row_count = $6, bytes = $7,
         recorded_at = $8 WHERE kind = $1`,
    );
    this.#oldest = database.statement(
      'SELECT number, hash, octet_length(entry) AS length FROM @audit WHERE kind = $1 AND number > $2 ORDER BY number LIMIT $3',
    );
    this.#drop = database.statement('DELETE FROM @audit WHERE kind = $1 AND number <= $2');
    this.#lastBatch = database.statement('SELECT id FROM @audit_batch WHERE sender = $1');
    this.#keepBatch = database.statement(
      'INSERT INTO @audit_batch VALUES ($1, $2) ON CONFLICT (sender) DO UPDATE SET id = excluded.id',
    );
    const rowsIn = (order: 'ASC' | 'DESC') =>
      database.statement(
        `SELECT kind, number, entry, hash FROM unnest($1::text[]) AS k(name) CROSS JOIN LATERAL (
         SELECT kind, number, entry, hash FROM @audit
         WHERE kind = name AND number < $5::bigint AND number > greatest($2::bigint, coalesce(
           (SELECT number FROM @audit WHERE kind = name AND recorded_at >= $3 ORDER BY recorded_at, number LIMIT 1) - 1,
           ${Number.MAX_SAFE_INTEGER}))
         ORDER BY number ${order} LIMIT $4
       ) AS rows ORDER BY number ${order} LIMIT $4`,
      );
    this.#read = rowsIn('ASC');
    this.#readBack = rowsIn('DESC');
    this.#page = database.statement(
      `SELECT ${chainColumns}, page.* FROM @audit_chain c LEFT JOIN LATERAL (
         SELECT number, entry, hash FROM @audit a WHERE a.kind = c.kind AND number > $2 ORDER BY number LIMIT $3
       ) AS page ON true WHERE kind = $1 ORDER BY number`,
    );
  }

  /** Makes the missing ends of chains, and reads the others. */
  async start(): Promise<void> {
    const chains = await this.#database.transaction(async (transaction) => {
      transaction.write(this.#make, [allKinds, firstHash]);
      return transaction.query<ChainRow>(this.#lock);
    });
    for (const { kind, bytes } of chains) this.#bytes.set(kind, bytes);
  }

  record(event: AuditEvent): void {
    this.#buffer.record(event);
  }

  changesWritten(): Promise<void> | undefined {
    return this.#buffer.writing;
  }

  async recordBatch(
    { from, id }: { from: string; id: string },
    events: readonly AuditEvent[],
  ): Promise<boolean> {
    const [last] = await this.#database.read<{ id: string }>(this.#lastBatch, [from]);
    if (last?.id === id) return false;
    return this.#write(this.#buffer.merge(events), { from, id });
  }

  async read({ since, kinds, after = 0, before, limit }: AuditQuery): Promise<AuditRow[]> {
    await this.#buffer.flush(kinds);
    const statement = before === undefined ? this.#read : this.#readBack;
    const upTo = before ?? Number.MAX_SAFE_INTEGER;
    return this.#database.read<AuditRow>(statement, [kinds, after, since, limit, upTo]);
  }

  async readChain(
    kind: AuditKind,
    after: number,
    limit: number,
  ): Promise<{ rows: AuditRow[]; chain: AuditChain }> {
    await this.#buffer.flush([kind]);
    // One statement reads both, since rows may be added and dropped meanwhile. For a page without rows it returns only the chain.
    const found = await this.#database.read<ChainRow & (AuditRow | { number: null })>(this.#page, [
      kind,
      after,
      limit,
    ]);
    const { recordedAt: _, ...chain } = chainOf(found[0]!);
    const rows = found.flatMap((row) =>
      row.number === null ? [] : { kind, number: row.number, entry: row.entry, hash: row.hash },
    );
    return { rows, chain };
  }

  usedPart(kind: AuditKind): number {
    return (this.#bytes.get(kind) ?? 0) / this.#maxBytes(kind);
  }

  /** Writes what was recorded. The database is the caller's. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#buffer.flush(allKinds);
    } finally {
      this.#buffer.close();
    }
  }

  #maxBytes(kind: AuditKind): number {
    return this.#options.maxBytes?.[kind] ?? auditKinds[kind].maxBytes;
  }

  async append(transaction: Transaction, events: readonly AuditEvent[]): Promise<() => void> {
    const chains = (await transaction.query<ChainRow>(this.#lock)).map(chainOf);
    await this.#append(transaction, events, chains);
    return () => this.#written(chains);
  }

  #written(chains: readonly TimedChain[]): void {
    for (const { kind, bytes } of chains) this.#bytes.set(kind, bytes);
  }

  /** Writes events in one transaction. Resolves with false if they belong to a batch that was written meanwhile. */
  async #write(events: readonly CountedEvent[], batch?: { from: string; id: string }): Promise<boolean> {
    const chains = await this.#database.transaction(async (transaction) => {
      const locked = (await transaction.query<ChainRow>(this.#lock)).map(chainOf);
      if (batch) {
        const [last] = await transaction.query<{ id: string }>(this.#lastBatch, [batch.from]);
        if (last?.id === batch.id) return undefined;
        transaction.write(this.#keepBatch, [batch.from, batch.id]);
      }
      await this.#append(transaction, events, locked);
      return locked;
    }, otherRows);
    if (chains) this.#written(chains);
    return chains !== undefined;
  }

  async #append(
    transaction: Transaction,
    events: readonly CountedEvent[],
    chains: readonly TimedChain[],
  ): Promise<void> {
    const now = (this.#options.now ?? Date.now)();
    const recordedAt = Math.floor(Math.max(now, ...chains.map((chain) => chain.recordedAt)));
    let number = Math.max(...chains.map(({ last }) => last.number));
    const byKind = new Map(chains.map((chain) => [chain.kind, chain]));
    const rows: AuditRow[] = [];
    for (const event of events) {
      const chain = byKind.get(event.kind)!;
      const row = auditRow(event, { number: ++number, recordedAt, previous: chain.last.hash });
      rows.push(row);
      chain.last = { number, hash: row.hash };
      chain.rows++;
      chain.bytes += Buffer.byteLength(row.entry) + rowOverheadBytes;
      chain.recordedAt = recordedAt;
    }
    if (rows.length === 0) return;
    transaction.write(this.#insert, [
      rows.map(({ kind }) => kind),
      rows.map((row) => row.number),
      rows.map(({ entry }) => entry),
      rows.map(({ hash }) => hash),
      rows.map(() => recordedAt),
    ]);
    for (const chain of new Set(events.map(({ kind }) => byKind.get(kind)!))) {
      await this.#trim(transaction, chain);
      const { kind, dropped, last, rows: count, bytes } = chain;
      const ends = [dropped.number, dropped.hash, last.number, last.hash];
      transaction.write(this.#keepChain, [kind, ...ends, count, bytes, recordedAt]);
    }
  }

  /** Drops the oldest rows of a chain until it is within its budget. The first remaining row follows the last one that was dropped. */
  async #trim(transaction: Transaction, chain: TimedChain): Promise<void> {
    if (auditKinds[chain.kind].kept) return;
    const maxBytes = this.#maxBytes(chain.kind);
    while (chain.bytes > maxBytes) {
      const values = [chain.kind, chain.dropped.number, droppedAtOnce];
      type Row = { number: number; hash: string; length: number };
      const oldest = await transaction.query<Row>(this.#oldest, values);
      const before = chain.dropped.number;
      for (const { number, hash, length } of oldest) {
        if (chain.bytes <= maxBytes || number === chain.last.number) break;
        chain.dropped = { number, hash };
        chain.rows--;
        chain.bytes -= length + rowOverheadBytes;
      }
      if (chain.dropped.number === before) return;
      transaction.write(this.#drop, [chain.kind, chain.dropped.number]);
    }
  }
}
