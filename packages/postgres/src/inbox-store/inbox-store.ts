import type {
  Appended,
  Backlog,
  Batch,
  DeadLetter,
  DeadLetters,
  ExpiryTime,
  FoundMessage,
  GivenCaps,
  HistoryPage,
  HistoryQuery,
  InboxBacklog,
  InboxStats,
  InboxStore,
  JournalBound,
  JournalClaim,
  KeepBodies,
  KeptBodies,
  KeptTime,
  RequestKey,
  RequestState,
  Retried,
  ScheduledMessages,
  StoredMessage,
  StoredMetadata,
  WaitingPage,
} from '@signalbox/store';
import {
  BatchWriter,
  capsOf,
  type DeadLetterLimits,
  defaultDeadLetterLimits,
  droppedOf,
  dropsPerStep,
  keptTimeOf,
  keptTimeText,
  quietTrimMs,
  type StoreCaps,
  StoreError,
  TrustedTime,
} from '@signalbox/store/rules';
import type { InboxCluster } from '../cluster/postgres-cluster.ts';
import type { Transaction } from '../database/attempt.ts';
import { otherRows, type PostgresDatabase } from '../database/database.ts';
import { type DurabilitySettings, durabilityColumns, receiptMeaning } from '../database/server-facts.ts';
import type { Statement } from '../database/statement.ts';
import { isGoneTable, isRefusedGuard } from '../database/store-errors.ts';
import { BatchLoader, type Loaded, MissingRows } from './batch-loader.ts';
import { BatchPlan } from './batch-plan.ts';
import { BatchSaver } from './batch-saver.ts';
import { DeadLetterReader } from './dead-letter-reader.ts';
import { JournalBindings } from './journal-bindings.ts';
import { KeptBodyTable } from './kept-body-table.ts';
import { MessageReader } from './message-reader.ts';
import { RememberedRows } from './remembered-rows.ts';
import { ScheduledReader } from './scheduled-reader.ts';
import { maxAttempts, type RetentionLimits, SettledSlices } from './settled-slices.ts';
import { StoredAmount } from './stored-amount.ts';
import { ToldBrokers } from './told-brokers.ts';
import type { WorkingInbox, WorkingSet } from './working-set.ts';

const MiB = 1024 * 1024;
const hour = 60 * 60 * 1000;

const maxBodyBytes = 4 * MiB;

const defaultLimits: RetentionLimits = {
  dedupeWindowMs: 10 * 60 * 1000,
  retentionMs: 24 * hour,
  retentionBytes: 512 * MiB,
};

/** The time between two removals of rows of inboxes and agents without stored messages, in milliseconds. */
const idleMs = 60_000;
/** The most rows of one table that are removed at once. */
const idleAtOnce = 1000;
/**
 * The most requests of one requester that are remembered without their messages. Beyond that, those that can be answered for the shortest
 * time are dropped.
 */
const maxOpenRequests = 10_000;

export interface PostgresInboxStoreOptions extends Partial<RetentionLimits> {
  /** An open database, which outlives the store. */
  database: PostgresDatabase;
  /** The brokers that share the messages. */
  cluster: InboxCluster;
  /** The caps of the store; by default none. */
  caps?: GivenCaps;
  /** Tells whether an agent has the cap `privilegedRecipient`. By default no agent has. */
  isPrivileged?: (agent: string) => boolean;
  deadLetters?: Partial<DeadLetterLimits>;
  /**
   * The bodies that are kept after their messages were settled. By default none are, and those that were kept are forgotten. For how long
   * and how many, the broker decides that keeps house.
   */
  keepBodies?: KeepBodies | undefined;
  /** Returns epoch milliseconds. */
  now?: () => number;
  /** Returns monotonic milliseconds. */
  monotonic?: () => number;
}

/** Opens the messages of a database. Rejects with a `StoreError`. */
export async function openPostgresInboxStore(options: PostgresInboxStoreOptions): Promise<InboxStore> {
  const { database } = options;
  const statement = database.unnamed(`SELECT value FROM @meta WHERE key = 'identity'`);
  const [identity] = await database.read<{ value: string }>(statement);
  return new PostgresInboxStore(options, identity?.value ?? '');
}

type Writer = BatchWriter<WorkingInbox>;

type SqlName =
  | 'value'
  | 'setValue'
  | 'prove'
  | 'settings'
  | 'oldRequest'
  | 'dropOldRequests'
  | 'dropManyRequests';

/**
 * The messages of a database. Every change is one transaction, which locks and reads the rows that it needs, applies the rules of batches
 * in memory, and writes the changed rows. So a commit is durable when it resolves.
 */
class PostgresInboxStore implements InboxStore {
  readonly dedupeWindowMs: number;
  readonly dead: DeadLetters;
  readonly scheduled: ScheduledMessages;
  readonly kept: KeptBodies;
  readonly #database: PostgresDatabase;
  readonly #cluster: InboxCluster;
  readonly #told: ToldBrokers;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #caps: StoreCaps;
  readonly #isPrivileged: (agent: string) => boolean;
  readonly #letterLimits: DeadLetterLimits;
  readonly #slices: SettledSlices;
  readonly #loader: BatchLoader;
  readonly #saver: BatchSaver;
  readonly #remembered = new RememberedRows();
  readonly #reader: MessageReader;
  readonly #letters: DeadLetterReader;
  readonly #later: ScheduledReader;
  readonly #amount: StoredAmount;
  readonly #journals: JournalBindings;
  readonly #time: TrustedTime;
  readonly #identity: string;
  readonly #sql: Readonly<Record<SqlName, Statement>>;
  readonly #tidying: readonly Statement[];
  #isLetterNew = true;
  /** The time when dead letters were last trimmed and idle rows removed, in monotonic milliseconds. */
  #trimmedAt = Number.NEGATIVE_INFINITY;
  #tidiedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PostgresInboxStoreOptions, identity: string) {
    const { database, cluster, caps, isPrivileged = () => false, deadLetters, now = Date.now } = options;
    const { monotonic = () => performance.now() } = options;
    const limits: RetentionLimits = {
      dedupeWindowMs: options.dedupeWindowMs ?? defaultLimits.dedupeWindowMs,
      retentionMs: options.retentionMs ?? defaultLimits.retentionMs,
      retentionBytes: options.retentionBytes ?? defaultLimits.retentionBytes,
    };
    this.#database = database;
    this.#cluster = cluster;
    this.#told = new ToldBrokers(database, cluster);
    this.#identity = identity;
    this.#now = now;
    this.#monotonic = monotonic;
    this.#caps = capsOf(caps);
    this.#isPrivileged = isPrivileged;
    this.#letterLimits = { ...defaultDeadLetterLimits, ...deadLetters };
    this.dedupeWindowMs = limits.dedupeWindowMs;
    this.#time = new TrustedTime(limits.dedupeWindowMs, { now, monotonic });
    this.#slices = new SettledSlices(database, limits, now);
    this.#loader = new BatchLoader(database, this.#slices, cluster);
    const kept = new KeptBodyTable(database, options.keepBodies, () => this.#keepsHouse);
    this.kept = kept;
    this.#saver = new BatchSaver(database, kept);
    this.#reader = new MessageReader(database, this.#slices, () => this.#time.now());
    this.#letters = new DeadLetterReader(database);
    this.#later = new ScheduledReader(database);
    this.#amount = new StoredAmount(database, this.#caps.store);
    this.#journals = new JournalBindings(database);
    this.#sql = {
      value: database.statement('SELECT value FROM @meta WHERE key = $1'),
      setValue: database.statement(
        'INSERT INTO @meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      ),
      prove: database.statement(
        `INSERT INTO @meta AS m VALUES ('proofs', '1') ON CONFLICT (key) DO UPDATE SET value = m.value::bigint + 1 RETURNING value`,
      ),
      settings: database.statement(`SELECT ${durabilityColumns}`),
      oldRequest: database.statement('SELECT seq FROM @open_request WHERE open_until <= $1 LIMIT 1'),
      dropOldRequests: database.statement('DELETE FROM @open_request WHERE open_until <= $1'),
      dropManyRequests: database.statement(
        `DELETE FROM @open_request o USING (
           SELECT seq, row_number() OVER (PARTITION BY requester ORDER BY open_until DESC) AS place FROM @open_request
           WHERE requester IN (SELECT requester FROM @open_request GROUP BY requester HAVING count(*) > $1)
         ) AS k WHERE o.seq = k.seq AND k.place > $1`,
      ),
    };
    this.#tidying = idleRows.map(([table, condition]) =>
      database.statement(
        `DELETE FROM @${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM @${table} WHERE ${condition} LIMIT ${idleAtOnce} FOR UPDATE SKIP LOCKED))`,
      ),
    );
    this.dead = this.#openDeadLetters();
    this.scheduled = this.#openScheduled();
  }

  get caps(): InboxStore['caps'] {
    return { receiptMeans: this.#database.facts.receiptMeans, maxBodyBytes };
  }

  async commit(batch: Batch): Promise<Appended[]> {
    const { takings = [], messages, settlements, attempts, cancelled = [] } = batch;
    const parts = [takings, messages, settlements, attempts, cancelled];
    if (parts.every((part) => part.length === 0)) return [];
    if (settlements.some(({ outcome }) => outcome === 'dead')) this.#isLetterNew = true;
    try {
      return await this.#change(BatchPlan.of(batch), (writer, now, { set }) =>
        this.#withPlaces(writer.apply(batch, now), set),
      );
    } catch (thrown) {
      if (!isFull(thrown) || messages.length === 0) throw thrown;
      // Settling frees room.
      await this.commit({ ...batch, messages: [] });
      return messages.map(() => ({ result: 'storage_full' }));
    }
  }

  /** Adds to stored messages the ones before them, which other brokers may have stored. */
  #withPlaces(appended: Appended[], set: WorkingSet): Appended[] {
    return appended.map((one) => (one.result === 'stored' ? { ...one, ...set.placeOf(one.seq) } : one));
  }

  /** Returns `undefined`: the server has synced a commit when it confirms it. */
  sync(): undefined {
    return undefined;
  }

  read(inbox: string, afterSeq: number, limit: number, maxBytes: number): Promise<StoredMessage[]> {
    return this.#reader.read(inbox, afterSeq, limit, maxBytes);
  }

  find(inbox: string, sender: string, id: string): Promise<FoundMessage | undefined> {
    return this.#reader.find(inbox, sender, id);
  }

  findOfAnySender(inbox: string, id: string, limit: number): Promise<FoundMessage[]> {
    return this.#reader.findOfAnySender(inbox, id, limit);
  }

  requestState(request: RequestKey): Promise<RequestState> {
    return this.#reader.requestState(request);
  }

  sentWith(tokenId: string, limit: number): Promise<StoredMetadata[]> {
    return this.#reader.sentWith(tokenId, limit);
  }

  tried(inbox: string, seqs: readonly number[], limit: number): Promise<StoredMetadata[]> {
    return this.#reader.tried(inbox, seqs, limit);
  }

  stats(inbox: string): Promise<InboxStats> {
    return this.#reader.stats(inbox);
  }

  waiting(after: string, limit: number): Promise<WaitingPage> {
    return this.#reader.waiting(after, limit);
  }

  inboxBacklogs(after: string, limit: number): Promise<InboxBacklog[]> {
    return this.#reader.inboxBacklogs(after, limit);
  }

  backlog(): Promise<Backlog> {
    return this.#reader.backlog();
  }

  async usage(): Promise<{ usedBytes: number; maxBytes: number }> {
    return { usedBytes: await this.#amount.measure(), maxBytes: this.#caps.store.bytes };
  }

  async prove(): Promise<'works' | 'full'> {
    try {
      await this.#database.transaction((transaction) => transaction.query(this.#sql.prove), otherRows);
      return 'works';
    } catch (thrown) {
      if (isFull(thrown)) return 'full';
      throw thrown;
    }
  }

  history(query: HistoryQuery): Promise<HistoryPage> {
    return this.#reader.history(query);
  }

  inboxes(after: string, limit: number): Promise<string[]> {
    return this.#reader.inboxes(after, limit);
  }

  async sweep(time: ExpiryTime): Promise<StoredMetadata[]> {
    this.#database.check();
    const [settings] = await this.#database.read<DurabilitySettings>(this.#sql.settings);
    if (settings) this.#database.note({ receiptMeans: receiptMeaning(settings) });
    const expired = await this.#reader.expired(time, this.#keepsHouse);
    const mayForget = this.#time.note(time);
    if (this.#keepsHouse) await this.#keepHouse(time, mayForget);
    return expired;
  }

  /** True if this broker does the work that one broker does for all. */
  get #keepsHouse(): boolean {
    return this.#cluster?.keepsHouse ?? true;
  }

  async #keepHouse(time: ExpiryTime, mayForget: boolean): Promise<void> {
    await this.#slices.tidy(time, mayForget);
    await this.#dropOldRequests(time);
    const now = this.#monotonic();
    if (now - this.#tidiedAt >= idleMs) {
      await this.#tidy();
      this.#tidiedAt = now;
    }
  }

  countExpired(time: ExpiryTime): Promise<Record<string, number>> {
    return this.#reader.countExpired(time);
  }

  async keepTime(time: ExpiryTime, schedules: KeptTime['schedules']): Promise<void> {
    const kept = keptTimeText(time, schedules);
    await this.#database.transaction(
      (transaction) => transaction.query(this.#sql.setValue, ['time', kept]),
      otherRows,
    );
  }

  async keptTime(): Promise<KeptTime | undefined> {
    const [kept] = await this.#database.read<{ value: string }>(this.#sql.value, ['time']);
    return kept === undefined ? undefined : keptTimeOf(kept.value);
  }

  bindJournal(inbox: string, claim: JournalClaim): Promise<JournalBound> {
    return this.#journals.bind(inbox, claim);
  }

  async identity(): Promise<string> {
    return this.#identity;
  }

  /** Does nothing: the caller closes the database. */
  async [Symbol.asyncDispose](): Promise<void> {}

  #openDeadLetters(): DeadLetters {
    const letters = this.#letters;
    return {
      list: (inbox, afterSeq, limit) => letters.list(inbox, afterSeq, limit),
      count: () => letters.count(),
      find: (seq) => letters.find(seq),
      retry: (seq, now, leastMs) => this.#retry(seq, now, leastMs),
      drop: async (seq) => (await this.#dropLetters(await letters.facts(seq))).length > 0,
      trim: (time) => this.#trim(time),
    };
  }

  #openScheduled(): ScheduledMessages {
    const later = this.#later;
    return {
      nextDueAt: () => later.nextDueAt(),
      due: (at, limit, maxBytes) => later.due(at, limit, maxBytes),
      count: () => later.count(),
      list: (query) => later.list(query),
      cancel: (inbox, sender, id) => this.#cancelScheduled(inbox, sender, id),
    };
  }

  async #cancelScheduled(inbox: string, sender: string, id: string): Promise<StoredMetadata[]> {
    const facts = await this.#later.ofId(inbox, sender, id);
    if (facts.length === 0) return [];
    const plan = new BatchPlan();
    for (const { seq, inbox: name, sender: by, isCounted } of facts) {
      plan.scheduled.push(seq);
      plan.counts(name, by, isCounted);
      plan.numbers++;
    }
    const places = facts.map(({ seq }) => ({ due: 0, number: seq }));
    return this.#change(plan, (writer, now) => writer.cancelScheduled(places, now));
  }

  async #retry(seq: number, now: number, leastMs?: number): Promise<Retried> {
    const letter = await this.#letters.find(seq);
    if (!letter) return { result: 'unknown' };
    const { inbox, id, sender, size } = letter;
    const plan = new BatchPlan();
    plan.dead.push(seq);
    plan.counts(inbox, sender, true);
    plan.ids.push({ inbox, id, sender });
    plan.numbers = 1;
    plan.bytes = size;
    try {
      return await this.#change(plan, (writer) => writer.retry(seq, now, leastMs));
    } catch (thrown) {
      if (isFull(thrown)) return { result: 'storage_full' };
      throw thrown;
    }
  }

  async #trim(time: ExpiryTime): Promise<DeadLetter[]> {
    if (!this.#keepsHouse) return [];
    const now = this.#monotonic();
    if (!this.#isLetterNew && now - this.#trimmedAt < quietTrimMs) return [];
    const dropped = droppedOf(await this.#letters.facts(), this.#letterLimits, time);
    this.#isLetterNew = dropped.length > dropsPerStep;
    this.#trimmedAt = now;
    return this.#dropLetters(dropped.slice(0, dropsPerStep));
  }

  /** Drops dead letters that still exist, and returns them. */
  async #dropLetters(
    facts: readonly { seq: number; inbox: string; sender: string; isCounted: boolean }[],
  ): Promise<DeadLetter[]> {
    if (facts.length === 0) return [];
    const letters = await this.#letters.some(facts.map(({ seq }) => seq));
    const plan = new BatchPlan();
    for (const { seq, inbox, sender, isCounted } of facts) {
      plan.dead.push(seq);
      plan.counts(inbox, sender, isCounted);
    }
    const dropped = await this.#change(plan, (_writer, _now, { dead }) =>
      facts.filter(({ seq }) => dead.drop(seq)).map(({ seq }) => seq),
    );
    return letters.filter(({ seq }) => dropped.includes(seq));
  }

  /** Applies a change to the rows that its plan has locked and read. Missing rows are made, and tables that were dropped are left out. */
  async #change<T>(plan: BatchPlan, apply: (writer: Writer, now: number, loaded: Loaded) => T): Promise<T> {
    await this.#amount.prepare(plan.numbers, plan.bytes);
    let slices = await this.#slices.statements();
    let isGuess = false;
    for (let attempt = 1; ; attempt++) {
      try {
        let told = (): void => {};
        isGuess = false;
        const tenures = this.#cluster.tenuresOf(plan.inboxes);
        let committed: Loaded | undefined;
        const change = async (transaction: Transaction): Promise<T> => {
          const time = () => this.#time.now();
          const rows = this.#remembered.begin(plan, this.#database);
          const guessed = rows && this.#loader.guess(transaction, plan, { rows, slices, now: time });
          // Without an await, all statements of a guess leave together with the first one.
          const loaded = guessed ?? (await this.#loader.load(transaction, plan, slices, time));
          isGuess = guessed !== undefined;
          committed = loaded;
          const now = Math.floor(this.#now());
          const { set: messages, dead, scheduled, sequence, counts: usage } = loaded;
          const deps = { messages, dead, scheduled, sequence, usage, caps: this.#caps };
          const usedBytes = () => this.#amount.bytes;
          const writer = new BatchWriter({ ...deps, isPrivileged: this.#isPrivileged, usedBytes });
          const value = apply(writer, now, loaded);
          this.#saver.save(transaction, loaded, now);
          told = await this.#told.write(transaction, messages, tenures);
          return value;
        };
        const result = await this.#database.transaction(change, {
          isNoted: true,
          onCommitted: () => committed && this.#remembered.note(plan, committed),
        });
        told();
        // Each of the bodies may be kept, too.
        this.#amount.add(plan.numbers, this.kept.keeps ? 2 * plan.bytes : plan.bytes);
        return result;
      } catch (thrown) {
        if (attempt === maxAttempts) throw thrown;
        if (thrown instanceof MissingRows)
          await this.#database.transaction((transaction) => this.#loader.make(transaction, plan));
        else if (isGoneTable(thrown)) slices = await this.#slices.refresh();
        else if (!isGuess || !isRefusedGuard(thrown)) throw thrown;
      }
    }
  }

  /** Removes rows of inboxes and agents without stored messages, and requests beyond the most of one requester. */
  async #tidy(): Promise<void> {
    for (const statement of this.#tidying)
      await this.#database.transaction((transaction) => transaction.query(statement));
    await this.#database.transaction((transaction) =>
      transaction.query(this.#sql.dropManyRequests, [maxOpenRequests]),
    );
  }

  /** Forgets requests whose time is over. */
  async #dropOldRequests(time: ExpiryTime): Promise<void> {
    const values = [Math.floor(time.earliest)];
    const [old] = await this.#database.read(this.#sql.oldRequest, values);
    if (old)
      await this.#database.transaction((transaction) => transaction.query(this.#sql.dropOldRequests, values));
  }
}

/** The tables with rows for stored messages, and the condition that a row has none. */
const idleRows = [
  [
    'inbox',
    `pending = 0 AND scheduled = 0
       AND NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = inbox.incarnation OR s.epoch = ANY(inbox.members))`,
  ],
  ['agent', 'received = 0 AND sent = 0'],
  ['sent_to', 'messages = 0'],
] as const;

function isFull(thrown: unknown): boolean {
  return thrown instanceof StoreError && thrown.code === 'store_full';
}
