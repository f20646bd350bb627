import type { Database, Statement } from 'better-sqlite3';
import type { DeadLetter, DeadLetters, Retried } from '../../dead-letters.ts';
import type { HistoryPage, HistoryQuery } from '../../history.ts';
import type { Appended, Batch, FoundMessage, InboxStats, InboxStore, StoreCaps } from '../../inbox-store.ts';
import type { StoredMessage, StoredMetadata } from '../../message.ts';
import { closeDatabase, isOutOfRoom, logBytes, openDatabase, reuseLog, toStoreError } from '../database.ts';
import type { LogStructuredLimits } from '../log-structured/log-structured-store.ts';
import { BatchWriter } from './batch-writer.ts';
import type { DeadLetterLimits } from './dead-letter-table.ts';
import { DiskReserve } from './disk-reserve.ts';
import { readHistory } from './history-reader.ts';
import { inboxSchema } from './inbox-schema.ts';
import { WalSync } from './wal-sync.ts';

const MiB = 1024 * 1024;
const hour = 60 * 60 * 1000;

const maxBodyBytes = 4 * MiB;
const defaultReserveBytes = 4 * MiB;

const defaultLimits: LogStructuredLimits = {
  memtableMessages: 4000,
  memtableBytes: 16 * MiB,
  segmentMessages: 128,
  dedupeWindowMs: 10 * 60 * 1000,
  retentionMs: 24 * hour,
  retentionBytes: 512 * MiB,
};

const uncapped: StoreCaps = {
  maxInboxMessages: Number.POSITIVE_INFINITY,
  maxInboxBytes: Number.POSITIVE_INFINITY,
  maxPendingPerSender: Number.POSITIVE_INFINITY,
  maxTotalBytes: Number.POSITIVE_INFINITY,
};

export interface SqliteInboxStoreOptions extends Partial<LogStructuredLimits> {
  /** A file of its own, created when missing, readable by its owner only. */
  file: string;
  /** `full`: durable is fsynced. `process`: it survives the end of the process, not a power cut. */
  durability: 'full' | 'process';
  /** No caps unless given. */
  caps?: Partial<StoreCaps>;
  deadLetters?: Partial<DeadLetterLimits>;
  /** Room kept beside the database for settlements on a full disk; 4 MiB by default. */
  reserveBytes?: number;
  now?: () => number;
}

/** Opens the embedded store. Rejects with a `StoreError`: `store_corrupt`, `store_too_new`, `store_full`, `store_unwritable`, `store_failed`. */
export async function openSqliteInboxStore(options: SqliteInboxStoreOptions): Promise<InboxStore> {
  const database = { file: options.file, synchronous: 'normal', schema: inboxSchema } as const;
  return openDatabase(database, (db) => new SqliteInboxStore(db, options));
}

/** The store on an open database, which it closes. */
export class SqliteInboxStore implements InboxStore {
  readonly caps: InboxStore['caps'];
  readonly dedupeWindowMs: number;
  readonly dead: DeadLetters;
  readonly #db: Database;
  readonly #file: string;
  readonly #now: () => number;
  readonly #batches: BatchWriter;
  readonly #reserve: DiskReserve;
  readonly #log: WalSync | undefined;
  readonly #begin: Statement<[]>;
  readonly #end: Statement<[]>;

  constructor(db: Database, options: SqliteInboxStoreOptions) {
    const { file, durability, caps, deadLetters, reserveBytes, now = Date.now, ...messages } = options;
    this.caps = { receiptMeans: durability === 'full' ? 'fsynced' : 'written', maxBodyBytes };
    this.#now = now;
    this.#db = db;
    this.#file = file;
    const limits = {
      caps: { ...uncapped, ...caps },
      messages: { ...defaultLimits, ...messages },
      deadLetters,
    };
    this.dedupeWindowMs = limits.messages.dedupeWindowMs;
    this.#batches = new BatchWriter(db, limits, now());
    this.#reserve = new DiskReserve(`${file}.reserve`, reserveBytes ?? defaultReserveBytes);
    this.#log = durability === 'full' ? new WalSync(file) : undefined;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
    this.dead = this.#deadLetters();
  }

  async commit(batch: Batch): Promise<Appended[]> {
    return this.#attempt(() => {
      this.#log?.check();
      if (batch.messages.length > 0 && !this.#reserve.isHeld) return this.#settleOnly(batch);
      try {
        return this.#apply(batch);
      } catch (thrown) {
        if (!isOutOfRoom(thrown)) throw thrown;
        this.#useReserve();
        return this.#settleOnly(batch);
      }
    });
  }

  sync(): Promise<void> | undefined {
    return this.#log?.sync();
  }

  async read(inbox: string, afterSeq: number, limit: number, maxBytes: number): Promise<StoredMessage[]> {
    return this.#attempt(() => this.#batches.messages.reader.read(inbox, afterSeq, limit, maxBytes));
  }

  async find(inbox: string, sender: string, id: string): Promise<FoundMessage | undefined> {
    return this.#attempt(() => this.#batches.messages.reader.find(id, inbox, sender));
  }

  async sentWith(tokenId: string, limit: number): Promise<StoredMetadata[]> {
    return this.#attempt(() => this.#batches.messages.reader.sentWith(tokenId, limit));
  }

  async tried(inbox: string, seqs: readonly number[], limit: number): Promise<StoredMetadata[]> {
    return this.#attempt(() => this.#batches.messages.reader.tried(inbox, seqs, limit));
  }

  async stats(inbox: string): Promise<InboxStats> {
    return this.#attempt(() => this.#batches.stats(inbox));
  }

  async usage(): Promise<{ usedBytes: number; maxBytes: number }> {
    return this.#attempt(() => this.#batches.usage());
  }

  async history(query: HistoryQuery): Promise<HistoryPage> {
    try {
      return await readHistory(this.#batches.messages.reader, query);
    } catch (thrown) {
      throw toStoreError(thrown, this.#file);
    }
  }

  async inboxes(after: string, limit: number): Promise<string[]> {
    return this.#attempt(() => this.#batches.messages.reader.inboxes(after, limit));
  }

  async sweep(now: number): Promise<StoredMetadata[]> {
    return this.#attempt(() => {
      this.#regainReserve();
      const expired = this.#batches.messages.reader.expired(now);
      if (this.#reserve.isHeld) this.#freeing(() => this.#transaction(() => this.#batches.tidy(now)));
      return expired;
    });
  }

  async bindJournal(inbox: string, journalId: string): Promise<boolean> {
    return this.#durably(() => {
      const known = this.#db
        .prepare<[string], string>('SELECT journal_id FROM journal WHERE inbox = ?')
        .pluck()
        .get(inbox);
      if (known === journalId) return true;
      this.#db
        .prepare(
          'INSERT INTO journal VALUES (?, ?) ON CONFLICT (inbox) DO UPDATE SET journal_id = excluded.journal_id',
        )
        .run(inbox, journalId);
      return known === undefined;
    });
  }

  async identity(): Promise<string> {
    return this.#attempt(() => {
      const identity = this.#db
        .prepare<[], string>(`SELECT value FROM meta WHERE key = 'identity'`)
        .pluck()
        .get();
      if (identity === undefined) throw new Error('the store has no identity');
      return identity;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#log?.close();
    closeDatabase(this.#db);
  }

  #deadLetters(): DeadLetters {
    const { dead } = this.#batches;
    return {
      list: async (inbox, afterSeq, limit) => this.#attempt(() => dead.list(inbox, afterSeq, limit)),
      find: async (seq) => this.#attempt(() => dead.find(seq)),
      retry: (seq, now) => this.#durably(() => this.#retry(seq, now)),
      drop: (seq) => this.#durably(() => this.#freeing(() => dead.drop(seq))),
      trim: async (now) => this.#attempt(() => this.#freeing(() => this.#trim(now))),
    };
  }

  #retry(seq: number, now: number): Retried {
    if (!this.#reserve.isHeld) return { result: 'storage_full' };
    try {
      this.#reserveNumbers(1);
      return this.#transaction(() => this.#batches.retry(seq, now));
    } catch (thrown) {
      if (isOutOfRoom(thrown)) return { result: 'storage_full' };
      throw thrown;
    }
  }

  #trim(now: number): DeadLetter[] {
    const surplus = this.#batches.dead.surplus(now);
    if (surplus.length > 0) {
      this.#transaction(() => {
        for (const { seq } of surplus) this.#batches.dead.drop(seq);
      });
    }
    return surplus;
  }

  #apply(batch: Batch): Appended[] {
    const { messages, settlements, attempts } = batch;
    if (messages.length + settlements.length + attempts.length === 0) return [];
    this.#reserveNumbers(messages.length + settlements.length);
    return this.#transaction(() => this.#batches.apply(batch, this.#now()));
  }

  /** Sequence numbers are known to others before the messages that bear them are durable, so their mark must be. */
  #reserveNumbers(count: number): void {
    if (this.#batches.reserve(count)) this.#log?.syncNow();
  }

  /** A change that frees room, and must be possible when there is none. */
  #freeing<T>(change: () => T): T {
    try {
      return change();
    } catch (thrown) {
      if (!isOutOfRoom(thrown)) throw thrown;
      this.#useReserve();
      return change();
    }
  }

  #useReserve(): void {
    this.#reserve.release();
    reuseLog(this.#db, 'keep');
  }

  /** Where the disk alone has too little room, that of the log may do: the log grows again in what is left. */
  #regainReserve(): void {
    if (this.#reserve.hold() || !this.#reserve.isPossibleWith(logBytes(this.#file))) return;
    reuseLog(this.#db, 'release');
    this.#reserve.hold();
  }

  /** Settling frees room, so it must go on when there is none for messages. */
  #settleOnly(batch: Batch): Appended[] {
    this.#apply({ ...batch, messages: [] });
    return batch.messages.map(() => ({ result: 'storage_full' }));
  }

  #transaction<T>(change: () => T): T {
    this.#begin.run();
    try {
      const result = change();
      this.#end.run();
      return result;
    } catch (thrown) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      this.#batches.forget(this.#now());
      throw thrown;
    }
  }

  async #durably<T>(change: () => T): Promise<T> {
    const result = this.#attempt(change);
    await this.sync();
    return result;
  }

  #attempt<T>(action: () => T): T {
    try {
      if (!this.#db.open) throw new Error('the store is closed');
      return action();
    } catch (thrown) {
      throw toStoreError(thrown, this.#file);
    }
  }
}
