import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { BatchWriter } from '../../batch-writer.ts';
import { capsOf, type GivenCaps } from '../../caps.ts';
import type { Damage } from '../../damage.ts';
import type { DeadLetterLimits } from '../../dead-letter-surplus.ts';
import type { DeadLetter, DeadLetters, Retried } from '../../dead-letters.ts';
import { type ExpiryTime, type KeptTime, keptTimeOf, keptTimeText } from '../../expiry-time.ts';
import type { HistoryPage, HistoryQuery } from '../../history.ts';
import type {
  Appended,
  Backlog,
  Batch,
  FoundMessage,
  InboxBacklog,
  InboxStats,
  InboxStore,
  JournalBound,
  JournalClaim,
  RequestKey,
  RequestState,
  WaitingPage,
} from '../../inbox-store.ts';
import type { KeepBodies, KeptBodies } from '../../kept-bodies.ts';
import type { NewMessage, StoredMessage, StoredMetadata } from '../../message.ts';
import type { ScheduledMessages } from '../../scheduled-messages.ts';
import { StoreError } from '../../store-error.ts';
import {
  closeDatabase,
  logBytes,
  openDatabase,
  refuseAbsent,
  toStoreError,
  usedBytesReader,
} from '../database.ts';
import { shrinkWhileOpen } from '../file-shrinker.ts';
import { AgentUsage } from '../log-structured/agent-usage.ts';
import { DamageFound } from '../log-structured/damage-found.ts';
import type { Inbox } from '../log-structured/inbox.ts';
import { type LogStructuredLimits, LogStructuredStore } from '../log-structured/log-structured-store.ts';
import { WalSync } from '../wal-sync.ts';
import { DeadLetterTable } from './dead-letter-table.ts';
import {
  type Boot,
  DurableMark,
  type Mark,
  markFile,
  presentBoot,
  type ReadMark,
  readMark,
} from './durable-mark.ts';
import { readHistory } from './history-reader.ts';
import { inboxSchema } from './inbox-schema.ts';
import { damagedBindings, JournalTable } from './journal-table.ts';
import { isWordDamage, KeptBodyTable } from './kept-body-table.ts';
import { MetaTable } from './meta-table.ts';
import { acceptLoss, describeDamage, type Finding, inspect, lossError } from './recovery.ts';
import { ScheduledTable } from './scheduled-table.ts';
import { SequenceNumbers } from './sequence-numbers.ts';
import { Transactions } from './transactions.ts';
import { repairWal } from './wal-recovery.ts';

const MiB = 1024 * 1024;
const hour = 60 * 60 * 1000;

const maxBodyBytes = 4 * MiB;
const defaultReserveBytes = 4 * MiB;

export const defaultLimits: LogStructuredLimits = {
  memtableMessages: 4000,
  memtableBytes: 16 * MiB,
  segmentMessages: 128,
  dedupeWindowMs: 10 * 60 * 1000,
  retentionMs: 24 * hour,
  retentionBytes: 512 * MiB,
};

export interface SqliteInboxStoreOptions extends Partial<Omit<LogStructuredLimits, 'keptKinds'>> {
  /** The file of the database, created when missing, readable by its owner only. */
  file: string;
  /** `full`: durable means fsynced. `process`: messages survive the end of the process, but not a power cut. */
  durability: 'full' | 'process';
  /** The caps of the store; by default none. */
  caps?: GivenCaps;
  /** Tells whether an agent has the cap `privilegedRecipient`. By default no agent has. */
  isPrivileged?: (agent: string) => boolean;
  deadLetters?: Partial<DeadLetterLimits>;
  /** The bodies that are kept after their messages were settled. By default none are, and those that were kept are forgotten. */
  keepBodies?: KeepBodies | undefined;
  /** The bytes that are kept beside the database for settlements on a full disk; 4 MiB by default. */
  reserveBytes?: number;
  /** True if other files show that the store was in use before. Then it must have a mark, even if it holds no commit. */
  wasInUse?: boolean;
  /** True: a store that has lost messages is opened with the rest of them. By default it is refused. */
  acceptLoss?: boolean;
  /** Called with damage that the store goes on with. */
  onDamage?: (damage: Damage) => void;
  /** Returns epoch milliseconds. */
  now?: () => number;
  /** Returns monotonic milliseconds. */
  monotonic?: () => number;
  /** The present boot of the machine. */
  boot?: Boot;
}

/**
 * Opens the embedded store. Rejects with a `StoreError`: `store_corrupt`, `store_damaged`, `store_other_version`, `store_full`,
 * `store_unwritable`, `store_failed`.
 */
export async function openSqliteInboxStore(options: SqliteInboxStoreOptions): Promise<InboxStore> {
  const { file, acceptLoss: isLossAccepted = false, boot = presentBoot() } = options;
  const mark = readMark(markFile(file), boot);
  refuseAbsent([{ file, madeLater: [markFile(file)] }], isLossAccepted);
  repairWal(file, mark, options.onDamage ?? (() => {}));
  const database = { file, synchronous: 'normal', schema: inboxSchema } as const;
  return openDatabase(database, (db) => new SqliteInboxStore(db, options));
}

/**
 * The store on an open database, which it closes. The messages are in a log-structured store on tables of that database. This class runs
 * each change in a transaction, tells when it is durable, and continues as far as possible when the disk is full.
 */
export class SqliteInboxStore implements InboxStore {
  readonly caps: InboxStore['caps'];
  readonly dedupeWindowMs: number;
  readonly dead: DeadLetters;
  readonly scheduled: ScheduledMessages;
  readonly kept: KeptBodies;
  readonly #db: Database;
  readonly #file: string;
  readonly #now: () => number;
  /** The stored amounts of each agent; kept by `#messages`, `#deadLetters` and `#scheduledTable`. */
  readonly #usage = new AgentUsage();
  readonly #messages: LogStructuredStore;
  readonly #deadLetters: DeadLetterTable;
  readonly #scheduledTable: ScheduledTable;
  readonly #keptBodies: KeptBodyTable;
  readonly #meta: MetaTable;
  readonly #identity: string;
  readonly #sequence: SequenceNumbers;
  readonly #journals: JournalTable;
  readonly #onDamage: (damage: Damage) => void;
  readonly #mark: DurableMark;
  readonly #boot: Boot;
  readonly #maxTotalBytes: number;
  readonly #usedBytes: () => number;
  readonly #writer: BatchWriter<Inbox>;
  readonly #transactions: Transactions;
  /** `undefined` if a write is durable enough. */
  readonly #walSync: WalSync | undefined;

  constructor(db: Database, options: SqliteInboxStoreOptions) {
    const {
      file,
      boot = presentBoot(),
      durability,
      caps,
      isPrivileged = () => false,
      deadLetters,
      ...others
    } = options;
    const { reserveBytes, now = Date.now, ...rest } = others;
    const {
      monotonic = () => performance.now(),
      acceptLoss: isLossAccepted = false,
      wasInUse = false,
      onDamage = () => {},
      keepBodies,
      ...messages
    } = rest;
    const storeCaps = capsOf(caps);
    const limits = { ...defaultLimits, ...messages, keptKinds: new Set(keepBodies?.kinds) };
    this.caps = { receiptMeans: durability === 'full' ? 'fsynced' : 'written', maxBodyBytes };
    this.#db = db;
    this.#file = file;
    this.#now = now;
    this.dedupeWindowMs = limits.dedupeWindowMs;
    this.#onDamage = onDamage;
    this.#meta = new MetaTable(db);
    this.#messages = new LogStructuredStore(db, this.#meta, limits, { now, monotonic, usage: this.#usage });
    this.#deadLetters = new DeadLetterTable(db, { monotonic, usage: this.#usage, onDamage }, deadLetters);
    this.#scheduledTable = new ScheduledTable(db, { usage: this.#usage, onDamage });
    this.#keptBodies = new KeptBodyTable(db, this.#meta, this.#messages.log, keepBodies);
    const mark = readMark(markFile(file), boot);
    const finding = inspect(this.#messages, this.#meta, mark, wasInUse || this.#messages.lastCommit > 0);
    if (finding.losses.length > 0 && !isLossAccepted) throw lossError(file, finding.losses);
    this.#sequence = new SequenceNumbers(this.#meta, finding.reserved);
    this.#journals = new JournalTable(db, this.#meta);
    this.#maxTotalBytes = storeCaps.store.bytes;
    this.#usedBytes = usedBytesReader(db);
    this.#writer = new BatchWriter({
      messages: this.#messages,
      dead: this.#deadLetters,
      scheduled: this.#scheduledTable,
      sequence: this.#sequence,
      usage: this.#usage,
      caps: storeCaps,
      isPrivileged,
      usedBytes: this.#usedBytes,
    });
    this.#transactions = new Transactions(db, {
      file,
      reserveBytes: reserveBytes ?? defaultReserveBytes,
      reload: () => {
        this.#reload();
        this.#writer.reset();
      },
      repair: (found, repaired) => this.#repairFound(found, repaired),
    });
    if (finding.losses.length > 0) this.#acceptLoss(mark, finding);
    this.#identity = this.#meta.identity();
    this.#repair(new Set());
    for (const inbox of damagedBindings(db)) {
      const detail = `the journal behind '${inbox}' is not known any more: its calls that wait are not run, unless they are safe`;
      onDamage({ what: 'journal', detail });
    }
    for (const lost of finding.allowed) {
      const why = 'it was not synced when the machine stopped, as durability "process" allows';
      onDamage({ what: 'log', detail: `${file} has lost ${lost}: ${why}` });
    }
    this.#boot = boot;
    this.#mark = new DurableMark(markFile(file));
    this.#walSync = durability === 'full' ? new WalSync(file, this.#beginSync) : undefined;
    if (mark === undefined || finding.losses.length > 0) this.#startMark();
    this.#markWritten();
    this.dead = this.#openDeadLetters();
    this.scheduled = this.#openScheduled();
    this.#noteKinds(keepBodies);
    this.kept = this.#openKept(keepBodies);
    shrinkWhileOpen(db, file);
  }

  async commit(batch: Batch): Promise<Appended[]> {
    const settlesOnly = batch.messages.length === 0;
    this.#walSync?.check();
    return this.#transactions.writeWithRoom(
      () => this.#apply(batch),
      settlesOnly ? undefined : () => this.#settleOnly(batch),
    );
  }

  sync(): Promise<void> | undefined {
    return this.#walSync?.sync();
  }

  async read(inbox: string, afterSeq: number, limit: number, maxBytes: number): Promise<StoredMessage[]> {
    return this.#transactions.attempt(() => this.#messages.reader.read(inbox, afterSeq, limit, maxBytes));
  }

  async find(inbox: string, sender: string, id: string): Promise<FoundMessage | undefined> {
    return this.#transactions.attempt(() => this.#messages.reader.find(id, inbox, sender));
  }

  async findOfAnySender(inbox: string, id: string, limit: number): Promise<FoundMessage[]> {
    return this.#transactions.attempt(() => this.#messages.reader.findOfAnySender(id, inbox, limit));
  }

  async requestState(request: RequestKey): Promise<RequestState> {
    return this.#transactions.attempt(() => this.#messages.requests.state(request));
  }

  async sentWith(tokenId: string, limit: number): Promise<StoredMetadata[]> {
    return this.#transactions.attempt(() => this.#messages.reader.sentWith(tokenId, limit));
  }

  async tried(inbox: string, seqs: readonly number[], limit: number): Promise<StoredMetadata[]> {
    return this.#transactions.attempt(() => this.#messages.reader.tried(inbox, seqs, limit));
  }

  async stats(inbox: string): Promise<InboxStats> {
    return this.#transactions.attempt(() => this.#messages.reader.stats(inbox));
  }

  async waiting(after: string, limit: number): Promise<WaitingPage> {
    return this.#transactions.attempt(() => this.#messages.reader.waiting(after, limit));
  }

  async inboxBacklogs(after: string, limit: number): Promise<InboxBacklog[]> {
    return this.#transactions.attempt(() => this.#messages.reader.inboxBacklogs(after, limit));
  }

  async backlog(): Promise<Backlog> {
    return this.#transactions.attempt(() => ({
      ...this.#messages.reader.backlog(),
      dead: this.#usage.dead,
      scheduled: this.#scheduledTable.count,
    }));
  }

  async usage(): Promise<{ usedBytes: number; maxBytes: number }> {
    return this.#transactions.attempt(() => ({
      usedBytes: this.#usedBytes(),
      maxBytes: this.#maxTotalBytes,
    }));
  }

  async prove(): Promise<'works' | 'full'> {
    const result = this.#transactions.writeWithRoom<'works' | 'full'>(
      () => this.#transactions.run(() => this.#proveMedium()),
      () => 'full',
    );
    await this.sync();
    return result;
  }

  async history(query: HistoryQuery): Promise<HistoryPage> {
    const repaired = new Set<number>();
    for (;;) {
      try {
        this.#transactions.recover();
        return await readHistory(this.#messages.reader, query);
      } catch (thrown) {
        this.#transactions.repairOrThrow(thrown, repaired);
      }
    }
  }

  async inboxes(after: string, limit: number): Promise<string[]> {
    return this.#transactions.attempt(() => this.#messages.reader.inboxes(after, limit));
  }

  async sweep(time: ExpiryTime): Promise<StoredMetadata[]> {
    return this.#transactions.write(() => {
      if (this.#transactions.isMediumInDoubt) this.#transactions.run(() => this.#proveMedium());
      this.#transactions.regainRoom();
      const expired = this.#messages.reader.expired(time);
      if (this.#transactions.hasRoom)
        this.#freeing(() => {
          this.#messages.tidy(time);
          this.#scheduledTable.tidy();
        });
      this.#markWritten();
      return expired;
    });
  }

  async countExpired(time: ExpiryTime): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    try {
      this.#transactions.recover();
      for (const part of this.#messages.reader.expiredInParts(time)) {
        for (const { shared } of part) counts[shared.kind] = (counts[shared.kind] ?? 0) + 1;
        await nextTurn();
      }
      return counts;
    } catch (thrown) {
      throw toStoreError(thrown, this.#file);
    }
  }

  async keepTime(time: ExpiryTime, schedules: KeptTime['schedules']): Promise<void> {
    const kept = keptTimeText(time, schedules);
    this.#transactions.write(() => {
      // The next call with room on the disk writes it.
      if (!this.#transactions.hasRoom) return;
      this.#freeing(() => this.#meta.set('time', kept));
    });
  }

  async keptTime(): Promise<KeptTime | undefined> {
    const kept = this.#transactions.attempt(() => this.#meta.text('time'));
    return kept === undefined ? undefined : keptTimeOf(kept);
  }

  async bindJournal(inbox: string, claim: JournalClaim): Promise<JournalBound> {
    return this.#durably(() => this.#journals.bind(inbox, claim, this.#messages.reader));
  }

  async identity(): Promise<string> {
    return this.#identity;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#db.open) return;
    const synced = this.#beginSync();
    try {
      await this.#walSync?.close();
      closeDatabase(this.#db);
      // Without SQLite's log, everything is in the database and was synced.
      if (logBytes(this.#file) === 0) synced();
    } finally {
      if (this.#db.open) closeDatabase(this.#db);
      this.#mark.close();
    }
  }

  #openDeadLetters(): DeadLetters {
    const dead = this.#deadLetters;
    return {
      list: async (inbox, afterSeq, limit) =>
        this.#transactions.attempt(() => dead.list(inbox, afterSeq, limit)),
      count: async () => this.#transactions.attempt(() => this.#usage.dead),
      find: async (seq) => this.#transactions.attempt(() => dead.find(seq)),
      retry: (seq, now, leastMs) => this.#durably(() => this.#retry(seq, now, leastMs)),
      drop: (seq) => this.#durably(() => this.#freeing(() => dead.drop(seq) !== undefined)),
      trim: async (time) => this.#transactions.write(() => this.#trim(time)),
    };
  }

  #openScheduled(): ScheduledMessages {
    const table = this.#scheduledTable;
    return {
      nextDueAt: async () => this.#transactions.attempt(() => table.nextDueAt()),
      due: async (at, limit, maxBytes) => this.#transactions.write(() => this.#due(at, limit, maxBytes)),
      count: async () => this.#transactions.attempt(() => table.count),
      list: async (query) => this.#transactions.attempt(() => table.list(query)),
      cancel: (inbox, sender, id) => this.#durably(() => this.#cancelScheduled(inbox, sender, id)),
    };
  }

  /** Notes which kinds are kept, for programs that read the log and do not know the configuration. */
  #noteKinds(keeps: KeepBodies | undefined): void {
    const kinds = JSON.stringify(keeps?.kinds ?? []);
    if ((this.#meta.text('kept_kinds') ?? '[]') === kinds) return;
    this.#transactions.write(() => this.#freeing(() => this.#meta.set('kept_kinds', kinds)));
  }

  #openKept(keeps: KeepBodies | undefined): KeptBodies {
    const table = this.#keptBodies;
    const step = (upTo: number): boolean =>
      this.#messages.log.keptBytes > 0 &&
      this.#transactions.write(() => this.#freeing(() => table.step(upTo)));
    const indexWords = (): boolean => {
      if (!this.#transactions.attempt(() => table.lacksWords)) return false;
      this.#withWords(() => table.indexWords());
      return table.lacksWords;
    };
    const upToDate = async (): Promise<void> => {
      const { lastCommit } = this.#messages;
      while (step(lastCommit)) await nextTurn();
    };
    return {
      keeps,
      index: async (now) => {
        const isMore = step(this.#messages.lastCommit) || indexWords();
        if (!this.#transactions.attempt(() => table.hasOld(now))) return isMore;
        return this.#withWords(() => table.forgetOld(now)) || isMore;
      },
      threads: async (query) => {
        await upToDate();
        const wordsUpToDate = async (): Promise<void> => {
          if (query.words?.length) while (indexWords()) await nextTurn();
        };
        await wordsUpToDate();
        try {
          return this.#transactions.attempt(() => table.threads(query));
        } catch (thrown) {
          this.#mendWords(thrown);
          await wordsUpToDate();
          return this.#transactions.attempt(() => table.threads(query));
        }
      },
      thread: async (thread, afterSeq, limit, maxBytes) => {
        await upToDate();
        return this.#transactions.attempt(() => table.thread(thread, afterSeq, limit, maxBytes));
      },
      read: async (seqs) => {
        await upToDate();
        return this.#transactions.attempt(() => table.read(seqs));
      },
      forget: async (thread) => {
        await upToDate();
        let forgotten = 0;
        for (;;) {
          const some = this.#withWords(() => table.forget(thread));
          await this.sync();
          if (some === 0) return forgotten;
          forgotten += some;
        }
      },
    };
  }

  /** Makes a change of kept bodies that changes the index of their words, too. */
  #withWords<T>(change: () => T): T {
    try {
      return this.#transactions.write(() => this.#freeing(change));
    } catch (thrown) {
      this.#mendWords(thrown);
      return this.#transactions.write(() => this.#freeing(change));
    }
  }

  /** Begins the index of words anew if an error says that it is damaged. Throws other errors. */
  #mendWords(thrown: unknown): void {
    if (!isWordDamage((thrown as Error).cause)) throw thrown;
    this.#transactions.write(() => this.#freeing(() => this.#keptBodies.forgetWords()));
    this.#onDamage({
      what: 'log',
      detail: 'the index of the words of kept bodies was damaged, and is made anew',
    });
  }

  /** Returns messages that are due. Messages that can't be read any more are dropped, so that they hold up no others. */
  #due(at: number, limit: number, maxBytes: number): NewMessage[] {
    for (;;) {
      const { due, unreadable } = this.#scheduledTable.due(at, limit, maxBytes);
      if (unreadable.length > 0)
        this.#freeing(() => {
          for (const place of unreadable) this.#scheduledTable.take(place);
        });
      if (due.length > 0 || unreadable.length === 0) return due;
    }
  }

  #cancelScheduled(inbox: string, sender: string, id: string): StoredMetadata[] {
    const places = this.#scheduledTable.placesOf(inbox, sender, id);
    if (places.length === 0) return [];
    this.#reserveNumbers(places.length);
    return this.#freeing(() => this.#writer.cancelScheduled(places, this.#now()));
  }

  #apply(batch: Batch): Appended[] {
    const { takings = [], messages, settlements, attempts } = batch;
    if (takings.length + messages.length + settlements.length + attempts.length === 0) return [];
    let copies = 0;
    for (const message of messages) if (message.copies) copies += message.copies.agents.length;
    this.#reserveNumbers(messages.length + copies + settlements.length);
    return this.#transactions.run(() => this.#writer.apply(batch, this.#now()));
  }

  /** Settles messages, which continues on a full disk because it frees room. */
  #settleOnly(batch: Batch): Appended[] {
    this.#apply({ ...batch, messages: [] });
    return batch.messages.map(() => ({ result: 'storage_full' }));
  }

  /**
   * Reserves sequence numbers. Others know them before the messages with these numbers are durable, so the mark of the reservation must be
   * durable first.
   */
  #reserveNumbers(count: number): void {
    if (this.#sequence.reserve(count)) this.#walSync?.syncNow();
  }

  #retry(seq: number, now: number, leastMs?: number): Retried {
    return this.#transactions.withRoom<Retried>(
      () => {
        this.#reserveNumbers(1);
        return this.#transactions.run(() => this.#writer.retry(seq, now, leastMs));
      },
      () => ({ result: 'storage_full' }),
    );
  }

  #trim(time: ExpiryTime): DeadLetter[] {
    const surplus = this.#deadLetters.surplus(time);
    if (surplus.length === 0) return [];
    this.#freeing(() => {
      for (const { seq } of surplus) this.#deadLetters.drop(seq);
    });
    return surplus;
  }

  #freeing<T>(change: () => T): T {
    return this.#transactions.withRoom(() => this.#transactions.run(change));
  }

  async #durably<T>(change: () => T): Promise<T> {
    const result = this.#transactions.write(change);
    await this.sync();
    return result;
  }

  /** Writes something and reads it, to learn whether the medium accepts it. SQLite does not write a value that it has already. */
  #proveMedium(): 'works' {
    const proof = (this.#meta.number('proofs') ?? 0) + 1;
    this.#meta.set('proofs', proof);
    if (this.#meta.number('proofs') === proof) return 'works';
    throw new StoreError(
      'store_corrupt',
      `${this.#file}: what was written could not be read again. Check the disk.`,
    );
  }

  /** Notes which changes the next sync covers. Returns a function to call when that sync has succeeded. */
  readonly #beginSync = (): (() => void) => {
    const mark = this.#present;
    return () => this.#mark.write(mark);
  };

  /** Writes the mark if nothing is synced: the changes outlive the process, but not the boot of the machine. */
  #markWritten(): void {
    if (!this.#walSync) this.#mark.write(this.#present, this.#boot);
  }

  /** Writes the first mark, once the store itself is on the disk. */
  #startMark(): void {
    const mark = this.#present;
    this.#db.pragma('wal_checkpoint(FULL)');
    this.#mark.start(mark);
  }

  /** Returns the store's identity and its last commit. */
  get #present(): Mark {
    return { identity: this.#identity, commit: this.#messages.lastCommit };
  }

  #acceptLoss(mark: ReadMark | undefined, finding: Finding): void {
    this.#transactions.run(() => acceptLoss(this.#messages, this.#meta, mark, finding));
    this.#reload();
    const detail = `the loss was accepted: ${finding.losses.join('; ')}`;
    this.#onDamage({ what: 'log', detail });
  }

  /** Reads again everything that is in memory. */
  #reload(): void {
    this.#usage.clear();
    this.#messages.reload();
    this.#deadLetters.reload();
    this.#scheduledTable.reload();
    this.#keptBodies.reload();
  }

  #repairFound({ segment }: DamageFound, found: Set<number>): void {
    // A repaired segment is undamaged: if it is damaged again, the medium does not keep what is written.
    if (segment !== undefined && found.has(segment)) {
      throw new StoreError(
        'store_corrupt',
        `${this.#file}: segment ${segment} is damaged again after its repair. Check the disk.`,
      );
    }
    if (segment !== undefined) found.add(segment);
    this.#repair(new Set(segment === undefined ? [] : [segment]));
  }

  /** Repairs damaged segments, and the given ones in any case. */
  #repair(segments: Set<number>): void {
    for (;;) {
      try {
        const damage = this.#transactions.run(() => this.#messages.repair(segments));
        if (damage.segments.length + damage.counts > 0) this.#reload();
        for (const one of describeDamage(damage)) this.#onDamage(one);
        return;
      } catch (thrown) {
        if (!(thrown instanceof DamageFound) || thrown.segment === undefined || segments.has(thrown.segment))
          throw thrown;
        segments.add(thrown.segment);
      }
    }
  }
}
