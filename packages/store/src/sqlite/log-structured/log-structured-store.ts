import type { Database } from 'better-sqlite3';
import { agentOf } from '../../agent-of.ts';
import type { ExpiryTime } from '../../expiry-time.ts';
import type { RequestKey } from '../../inbox-store.ts';
import {
  type Ending,
  hasLostBody,
  type LoggedMessage,
  type SharedFields,
  sharedFieldsOf,
  withTaker,
} from '../../logged-message.ts';
import type { NewMessage, Outcome } from '../../message.ts';
import type { FoundRequest } from '../../open-requests.ts';
import { TrustedTime } from '../../trusted-time.ts';
import type { MetaTable } from '../inbox-store/meta-table.ts';
import type { AgentUsage } from './agent-usage.ts';
import { CommitLog, type LogDamage } from './commit-log.ts';
import type { Inbox } from './inbox.ts';
import { Memtable } from './memtable.ts';
import { MemtableEntry } from './memtable-entry.ts';
import { MessageReader } from './message-reader.ts';
import { OpenRequests } from './open-requests.ts';
import { PendingSegments } from './pending-segments.ts';
import type { StoreDamage } from './repair-segments.ts';
import { type RetentionLimits, Segments } from './segments.ts';

/** The sizes of the memtable and of the segments. */
export interface LogStructuredLimits extends RetentionLimits {
  /** The most messages in the memtable. */
  memtableMessages: number;
  /** The most bytes of bodies in the commit log. */
  memtableBytes: number;
  /** The most pending messages in one segment. */
  segmentMessages: number;
  /** The kinds of messages whose bodies are kept after they were settled. By default there are none. */
  keptKinds?: ReadonlySet<string>;
}

/** The approximate number of messages that one step of compaction moves. */
const compactedAtOnce = 400;
/**
 * The approximate number of inboxes with pending messages in one step: each costs as much as many messages, and nothing else happens
 * meanwhile.
 */
const inboxesAtOnce = 128;
/** The age at which a message is compacted, as soon as another one is twice as old, in milliseconds. */
const memtableMs = 5 * 60 * 1000;

/** The time between two searches for agents without stored messages, in milliseconds. */
const idleMs = 60_000;

export interface LogStructuredDeps {
  /** Returns the wall clock's time in epoch milliseconds. */
  now: () => number;
  /** Returns the time by which messages age in the memtable, in monotonic milliseconds. */
  monotonic: () => number;
  /** Counts the pending messages, from the start on. */
  usage: AgentUsage;
}

/**
 * All messages of the store, log-structured. Most messages are settled soon after they were put, so that little more than the commit log is
 * written:
 * - A commit puts messages into the **memtable**, settles them there, and appends one record of its operations to the **commit log**.
 * - **Compaction** moves the oldest messages of the memtable into immutable **segments**, which hold either pending or settled messages,
 *   and drops their records from the log. It also merges nearly empty segments of pending messages.
 * - Settling a message of a segment removes it there and puts it into the memtable as settled.
 * - Segments of settled messages are dropped whole when they are old.
 *
 * Opening reads the facts of each segment and replays the log. A rollback does the same. Transactions are the caller's; the last step of
 * each is {@link save}.
 */
export class LogStructuredStore {
  readonly reader: MessageReader;
  readonly requests: OpenRequests;
  readonly log: CommitLog;
  readonly #limits: LogStructuredLimits;
  readonly #monotonic: () => number;
  readonly #usage: AgentUsage;
  /** The time when idle agents were last forgotten, in monotonic milliseconds. */
  #forgotIdleAt = 0;
  readonly #memtable: Memtable;
  readonly #segments: Segments;
  readonly #pending: PendingSegments;
  readonly #time: TrustedTime;
  /** The shared fields of the last message that was put, and the last ending: those of the next message are often the same. */
  #lastShared: SharedFields | undefined;
  #lastEnding: Ending | undefined;
  #logDamage: LogDamage = { missing: [], damaged: [] };

  constructor(
    db: Database,
    meta: MetaTable,
    limits: LogStructuredLimits,
    { now, monotonic, usage }: LogStructuredDeps,
  ) {
    this.#limits = limits;
    this.#usage = usage;
    this.#monotonic = monotonic;
    this.#time = new TrustedTime(limits.dedupeWindowMs, { now, monotonic });
    this.log = new CommitLog(db, meta);
    this.#segments = new Segments(db);
    this.#pending = new PendingSegments(db, this.#segments, limits.segmentMessages);
    this.#memtable = new Memtable((inbox) => this.#pending.counts.of(inbox), monotonic, usage);
    this.reader = new MessageReader(this.#memtable, this.#segments, this.#pending, usage);
    this.requests = new OpenRequests(db, this.reader, () => this.#time.now());
    this.#replay();
  }

  /** Returns the inbox with its counts. */
  inbox(name: string): Inbox {
    return this.#memtable.inbox(name);
  }

  /** Puts a new message, whose id must not be pending. */
  put(seq: number, inbox: Inbox, message: NewMessage, size: number, isCounted: boolean): void {
    const shared = sharedFieldsOf(message, this.#lastShared, isCounted);
    this.#lastShared = shared;
    this.#putEntry(inbox, new MemtableEntry(seq, shared, message, size, message.body));
    if (this.#limits.keptKinds?.has(message.kind) && message.body !== undefined) this.log.kept += size + 1;
    inbox.count(shared, size);
  }

  /**
   * Settles a message. Returns false if it is not pending in this inbox. `isAnswered` says that its reply is stored in the same
   * transaction.
   */
  settle(
    inbox: string,
    seq: number,
    at: number,
    outcome: Outcome,
    reason: string | null,
    isAnswered = false,
  ): boolean {
    const entry = this.#memtable.pendingEntry(inbox, seq) ?? this.#takeBack(inbox, seq, 'without body');
    if (!entry) return false;
    if (isAnswered) entry.answered = true;
    let ending = this.#lastEnding;
    if (ending?.at !== at || ending.outcome !== outcome || ending.reason !== reason) {
      ending = { at, outcome, reason };
      this.#lastEnding = ending;
    }
    this.#memtable.settle(entry, ending);
    this.log.record.settle(entry, ending);
    return true;
  }

  /** Notes that an agent has taken a pending message from the inbox of a group. */
  setTaken(inbox: string, seq: number, agent: string): void {
    const entry = this.#memtable.pendingEntry(inbox, seq);
    if (entry) {
      if (entry.takers?.includes(agent)) return;
      entry.takers = withTaker(entry.takers, agent);
      this.log.record.setTaken(entry, agent);
      return;
    }
    // A message of a segment stays there: otherwise it would be written once more, with its body.
    const message = this.#pending.get(inbox, seq);
    if (message) this.requests.setTaken(message, agent);
  }

  /** Notes the number of times that a pending message was tried. */
  setAttempts(inbox: string, seq: number, attempts: number): void {
    const entry = this.#memtable.pendingEntry(inbox, seq) ?? this.#takeBack(inbox, seq, 'with body');
    if (!entry) return;
    entry.attempts = attempts;
    this.log.record.setAttempts(entry);
  }

  /** Notes that an open request was answered, and changes nothing else of it. */
  setAnswered(key: RequestKey, request: FoundRequest): void {
    const { message } = request;
    const isHere = message instanceof MemtableEntry;
    const entry =
      isHere || !request.isPending ? message : this.#takeBack(request.inbox, request.seq, 'with body');
    if (entry instanceof MemtableEntry) {
      entry.answered = true;
      this.log.record.setAnswered(entry);
    } else this.requests.close(key, request);
  }

  /** Ends a transaction: compacts the messages beyond the limits of the memtable, and writes the record and the counts. */
  save(): void {
    const { memtableMessages, memtableBytes } = this.#limits;
    while (this.#memtable.size > memtableMessages || this.#memtable.loggedBytes > memtableBytes)
      this.#compact(compactedAtOnce, inboxesAtOnce);
    this.#pending.save();
    this.log.write();
  }

  /** Compacts the whole memtable, which frees the room that settled messages take in the log. */
  compactAll(): void {
    this.#compact(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  /** Does a small step of housekeeping in a transaction of its own. */
  tidy(time: ExpiryTime): void {
    const now = this.#monotonic();
    this.#memtable.forgetIdleInboxes();
    if (now - this.#forgotIdleAt >= idleMs) {
      this.#usage.forgetIdle();
      this.#forgotIdleAt = now;
    }
    const { oldestAt } = this.#memtable;
    if (oldestAt !== undefined && now - oldestAt >= 2 * memtableMs) {
      const old = this.#memtable.countPutBy(now - memtableMs);
      this.#compact(Math.min(old, compactedAtOnce), inboxesAtOnce);
      this.save();
    }
    if (this.#time.note(time))
      this.#segments.dropOld(this.#limits, time, ({ number }) =>
        this.requests.keep(this.#segments.read(number), time.earliest),
      );
    this.requests.tidy(time.earliest);
  }

  /** The missing and unreadable parts of the commit log when it was last read. */
  get logDamage(): LogDamage {
    return this.#logDamage;
  }

  /** The number of the last commit that was written, or 0 if there is none. Commits are numbered in their order. */
  get lastCommit(): number {
    return this.log.number - 1;
  }

  /** Returns the highest sequence number in use, among those that the store sees without reading every segment. */
  highestSeq(): number {
    let highest = this.#pending.highestSeq();
    for (const { seq } of this.#memtable.entries()) highest = Math.max(highest, seq);
    return highest;
  }

  /**
   * Continues with the rest of a damaged commit log, in a transaction. `written` is the number of the last commit that was certainly
   * written.
   */
  acceptLoss(written: number): void {
    this.compactAll();
    this.#pending.save();
    this.log.restartAfter(Math.max(written, this.lastCommit));
  }

  /**
   * Repairs segments and their tables, and the given segments in any case; see {@link PendingSegments.repair}. Call it in a transaction of
   * its own, and {@link reload} afterwards. Throws {@link DamageFound} if it finds the content of another segment damaged.
   */
  repair(found: ReadonlySet<number>): StoreDamage & { requests: number } {
    return { ...this.#pending.repair(found), requests: this.requests.repair() };
  }

  /** Reads all messages, pending and settled, in no order. */
  *all(): Iterable<LoggedMessage> {
    yield* this.#memtable.entries();
    for (const segment of this.#segments.all())
      yield* segment.kind === 'pending'
        ? this.#pending.messagesIn(segment)
        : this.#segments.read(segment.number);
  }

  /** Reads everything. Yields for each part the number of messages that were read, and its problem if there is one. Changes nothing. */
  *verify(): Iterable<{ messages: number; problem?: string }> {
    let messages = 0;
    for (const entry of this.#memtable.entries()) {
      messages++;
      if (hasLostBody(entry))
        yield { messages: 0, problem: `message ${entry.seq} in the log has lost its body` };
    }
    yield { messages };
    yield* this.#pending.verify();
    const damaged = this.requests.countDamaged();
    if (damaged > 0) yield { messages: 0, problem: `${damaged} rows of open requests are damaged` };
  }

  /** Reads everything again, after a rollback. */
  reload(): void {
    this.#segments.reload();
    this.#pending.reload();
    this.#replay();
  }

  /** Moves a message that changes from its segment into the memtable. A settled one needs no body. */
  #takeBack(name: string, seq: number, how: 'with body' | 'without body'): MemtableEntry | undefined {
    // The inbox is counted before the message leaves its segment, so that the message is counted once.
    const inbox = this.#memtable.inbox(name);
    const message = this.#pending.take(name, seq);
    if (!message) return undefined;
    const body = how === 'with body' ? message.body : undefined;
    const entry = new MemtableEntry(seq, message.shared, message, message.size, body);
    entry.answered = message.answered;
    entry.takers = message.takers;
    this.#putEntry(inbox, entry);
    for (const agent of entry.takers ?? []) this.log.record.setTaken(entry, agent);
    if (how === 'without body') return entry;
    entry.attempts = message.attempts;
    if (entry.attempts > 0) this.log.record.setAttempts(entry);
    if (entry.answered) this.log.record.setAnswered(entry);
    inbox.sort();
    return entry;
  }

  #putEntry(inbox: Inbox, entry: MemtableEntry): void {
    this.#memtable.add(inbox, entry, this.log.number);
    this.log.record.put(entry);
  }

  /**
   * Moves the oldest messages of the memtable to segments, and drops their records. It moves about `count` messages, or the pending ones of
   * `inboxes` inboxes.
   */
  #compact(count: number, inboxes: number): void {
    const { entries, upTo } = this.#memtable.takeOldest(count, inboxes);
    if (upTo === undefined) return;
    const settled = entries.filter(({ ending }) => ending !== undefined);
    const pending: LoggedMessage[] = entries.filter(({ ending }) => ending === undefined);
    pending.push(...this.#pending.takeSparse());
    if (settled.length > 0) this.#segments.write('settled', settled);
    this.#pending.add(pending);
    this.log.drop(upTo);
  }

  #replay(): void {
    const memtable = this.#memtable;
    const bySeq = new Map<number, MemtableEntry>();
    memtable.clear();
    for (const count of this.#pending.counts.all())
      this.#usage.countPending(agentOf(count.inbox), count, count.messages, count.bytes);
    this.#logDamage = this.log.replay({
      put: (message) => {
        const inbox = memtable.inbox(message.shared.inbox);
        const entry = new MemtableEntry(message.seq, message.shared, message, message.size, message.body);
        memtable.add(inbox, entry, this.log.number);
        bySeq.set(message.seq, entry);
        inbox.count(message.shared, message.size);
      },
      // A message that isn't there has moved to a segment since.
      settle: (inbox, seq, ending, answered) => {
        const entry = memtable.pendingEntry(inbox, seq);
        if (!entry) return;
        entry.answered = answered;
        memtable.settle(entry, ending);
      },
      setAttempts: (inbox, seq, attempts) => {
        const entry = memtable.pendingEntry(inbox, seq);
        if (entry) entry.attempts = attempts;
      },
      // The request may be settled.
      setAnswered: (_, seq) => {
        const entry = bySeq.get(seq);
        if (entry) entry.answered = true;
      },
      setTaken: (_, seq, agent) => {
        const entry = bySeq.get(seq);
        if (entry) entry.takers = withTaker(entry.takers, agent);
      },
    });
    memtable.sort();
  }
}
