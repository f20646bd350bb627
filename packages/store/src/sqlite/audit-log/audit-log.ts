import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { AuditBuffer } from '../../audit-buffer.ts';
import { auditRow, type CountedEvent } from '../../audit-chain.ts';
import {
  type AuditChain,
  type AuditEvent,
  type AuditKind,
  type AuditLog,
  type AuditQuery,
  type AuditRow,
  auditKinds,
} from '../../audit-log.ts';
import type { Damage } from '../../damage.ts';
import { StoreError } from '../../store-error.ts';
import { closeDatabase, openDatabase, requireSound, setAside, toStoreError } from '../database.ts';
import { shrinkWhileOpen } from '../file-shrinker.ts';
import {
  allKinds,
  emptyChain,
  type KindTable,
  kindTable,
  rowBytes,
  type SharedTables,
  schema,
  sharedTables,
  toChain,
  toRow,
} from './audit-tables.ts';

/** The largest log that is read at every start. In a larger one damage in older pages is found when they are read. */
const maxCheckedBytes = 64 * 1024 * 1024;
/** The number of rows that are examined together when rows are dropped. */
const droppedAtOnce = 256;

export interface SqliteAuditLogOptions {
  /** The file of the log, created when missing, readable by its owner only. */
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
 * Opens the audit log. Rejects with a `StoreError`. A damaged log is set aside and reported, and a new one is begun, so that messages are
 * delivered all the same.
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

/** The ends of a chain, and the time of its last row in epoch milliseconds. */
interface TimedChain extends AuditChain {
  recordedAt: number;
}

class SqliteAuditLog implements AuditLog {
  readonly #db: Database;
  readonly #options: SqliteAuditLogOptions;
  readonly #statements: SharedTables;
  readonly #tables: Readonly<Record<AuditKind, KindTable>>;
  readonly #chains: Map<AuditKind, TimedChain>;
  readonly #buffer: AuditBuffer;
  #number: number;
  /** The time of the last row. It never decreases, so that rows can be found by it. */
  #recordedAt: number;

  constructor(db: Database, options: SqliteAuditLogOptions) {
    this.#db = db;
    this.#options = options;
    this.#statements = sharedTables(db);
    this.#buffer = new AuditBuffer({
      write: (events, isUrgent) => this.#write(events, isUrgent ? 'full' : 'normal'),
      now: options.now ?? Date.now,
      onError: (error) => options.onError?.(error),
    });
    this.#tables = Object.fromEntries(allKinds.map((kind) => [kind, kindTable(db, kind)])) as Record<
      AuditKind,
      KindTable
    >;
    this.#chains = new Map(allKinds.map((kind) => [kind, { ...emptyChain(kind), recordedAt: 0 }]));
    for (const row of this.#statements.chains.all()) {
      const recordedAt = this.#tables[row.kind].lastRecordedAt.get() ?? 0;
      this.#chains.set(row.kind, { ...toChain(row), recordedAt });
    }
    this.#recordedAt = Math.max(...[...this.#chains.values()].map((chain) => chain.recordedAt));
    const numbers = allKinds.map((kind) => this.#tables[kind].lastNumber.get() ?? 0);
    this.#number = Math.max(...numbers, ...[...this.#chains.values()].map(({ last }) => last.number));
    shrinkWhileOpen(db, options.file);
  }

  record(event: AuditEvent): void {
    this.#buffer.record(event);
  }

  /** Returns `undefined`: changes are on disk when they are recorded. */
  changesWritten(): undefined {
    return undefined;
  }

  async recordBatch(
    { from, id }: { from: string; id: string },
    events: readonly AuditEvent[],
  ): Promise<boolean> {
    return this.#attempt(() => {
      if (this.#statements.lastBatch.get(from) === id) return false;
      const isSynced = events.some(({ kind }) => kind === 'change');
      const keep = (): void => {
        this.#statements.keepBatch.run(from, id);
      };
      this.#write(this.#buffer.merge(events), isSynced ? 'full' : 'normal', keep);
      return true;
    });
  }

  async read({ since, kinds, after = 0, before, limit }: AuditQuery): Promise<AuditRow[]> {
    return this.#attempt(() => {
      this.#buffer.flush(kinds);
      const found = kinds.flatMap((kind) => {
        const from = Math.max(after, this.#numberBefore(kind, since));
        const { ahead, behind } = this.#tables[kind];
        return before === undefined ? behind.all(from, limit) : ahead.all(before, from, limit);
      });
      const step = before === undefined ? 1 : -1;
      return found.sort((a, b) => step * (a.number - b.number)).slice(0, limit);
    });
  }

  async readChain(
    kind: AuditKind,
    after: number,
    limit: number,
  ): Promise<{ rows: AuditRow[]; chain: AuditChain }> {
    return this.#attempt(() => {
      this.#buffer.flush([kind]);
      const { recordedAt: _, ...chain } = this.#chains.get(kind)!;
      return { rows: this.#tables[kind].behind.all(after, limit), chain };
    });
  }

  usedPart(kind: AuditKind): number {
    return this.#chains.get(kind)!.bytes / this.#maxBytes(kind);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#db.open) return;
    try {
      this.#attempt(() => this.#buffer.flush(allKinds));
    } finally {
      this.#buffer.close();
      closeDatabase(this.#db);
    }
  }

  #maxBytes(kind: AuditKind): number {
    return this.#options.maxBytes?.[kind] ?? auditKinds[kind].maxBytes;
  }

  /** Returns a number such that all rows of the kind that were recorded at or after a time have a higher one. */
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

  /** Writes events in one transaction, together with the changes that `also` makes. With `full` they are on disk when this returns. */
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
    chain.bytes += rowBytes(Buffer.byteLength(entry));
  }

  /** Drops the oldest rows of a chain until it is within its budget. The rest follows the last row that was dropped. */
  #trim(chain: TimedChain): void {
    if (auditKinds[chain.kind].kept) return;
    const maxBytes = this.#maxBytes(chain.kind);
    const { oldest, drop } = this.#tables[chain.kind];
    while (chain.bytes > maxBytes) {
      for (const { number, hash, length } of oldest.all(chain.dropped.number, droppedAtOnce)) {
        if (chain.bytes <= maxBytes || number === chain.last.number) break;
        chain.dropped = { number, hash };
        chain.rows--;
        chain.bytes -= rowBytes(length);
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
