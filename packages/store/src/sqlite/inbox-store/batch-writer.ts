import type { Database } from 'better-sqlite3';
import type { Retried } from '../../dead-letters.ts';
import type { Appended, Batch, InboxStats, StoreCaps } from '../../inbox-store.ts';
import type { NewMessage, Outcome } from '../../message.ts';
import { usedBytesReader } from '../database.ts';
import type { Inbox } from '../log-structured/inbox.ts';
import { type LogStructuredLimits, LogStructuredStore } from '../log-structured/log-structured-store.ts';
import { type DeadLetterLimits, DeadLetterTable, defaultDeadLetterLimits } from './dead-letter-table.ts';
import { SequenceNumbers } from './sequence-numbers.ts';

/** Roughly what a message takes in the file besides its body. */
const messageOverheadBytes = 512;
/** So much may come before it is looked again how much is stored. */
const trustedBytes = 16 * 1024 * 1024;

export interface BatchLimits {
  caps: StoreCaps;
  messages: LogStructuredLimits;
  deadLetters: Partial<DeadLetterLimits> | undefined;
}

/** The rules by which messages come, end and come back, on all tables at once. Transactions are the caller's. */
export class BatchWriter {
  readonly messages: LogStructuredStore;
  readonly dead: DeadLetterTable;
  readonly #caps: StoreCaps;
  readonly #sequence: SequenceNumbers;
  readonly #usedBytes: () => number;
  /** What surely fits, within {@link trustedBytes}. */
  #room = 0;
  /** What came in this transaction. */
  #unsaved = 0;

  constructor(db: Database, limits: BatchLimits, now: number) {
    this.#caps = limits.caps;
    this.messages = new LogStructuredStore(db, limits.messages, now);
    this.dead = new DeadLetterTable(db, { ...defaultDeadLetterLimits, ...limits.deadLetters });
    this.#sequence = new SequenceNumbers(db);
    this.#usedBytes = usedBytesReader(db);
  }

  /** To be called before a transaction that may add so many messages; true if that wrote something. */
  reserve(messages: number): boolean {
    return this.#sequence.reserve(messages);
  }

  apply({ messages, attempts, settlements }: Batch, now: number): Appended[] {
    const appended = this.#appendAll(messages, now);
    for (const { inbox, seq, attempts: count } of attempts) this.messages.setAttempts(inbox, seq, count, now);
    for (const { inbox, seq, outcome, reason = null, notice } of settlements) {
      const isSettled = this.#settle(inbox, seq, now, outcome, reason);
      if (isSettled && notice) this.#notify(notice, now);
    }
    this.#save();
    return appended;
  }

  stats(inbox: string): InboxStats {
    const { pending, bytes } = this.messages.inbox(inbox);
    return { pending, bytes, headSeq: this.messages.reader.headSeq(inbox) };
  }

  usage(): { usedBytes: number; maxBytes: number } {
    return { usedBytes: this.#usedBytes(), maxBytes: this.#caps.maxTotalBytes };
  }

  /** Takes a dead letter back. That its id counts as settled is no obstacle: it is the same message. */
  retry(seq: number, now: number): Retried {
    const letter = this.dead.find(seq);
    if (!letter) return { result: 'unknown' };
    const { id, sender, size, createdAt, expiresAt } = letter;
    const inbox = this.messages.inbox(letter.inbox);
    const refusal = this.#refusal(inbox, size);
    if (refusal) return { result: refusal };
    if (this.messages.reader.isPending(inbox, id, sender)) return { result: 'id_conflict' };
    this.dead.drop(seq);
    const times = { createdAt: now, expiresAt: now + expiresAt - createdAt };
    const again = this.#add({ ...letter, ...times }, size, inbox, now);
    this.#save();
    return { result: 'stored', inbox: inbox.name, seq: again };
  }

  /** A small step of housekeeping, in a transaction. */
  tidy(now: number): void {
    this.messages.tidy(now);
  }

  /** After a rollback, which has made what is in memory doubtful. */
  forget(now: number): void {
    this.messages.reload(now);
    this.#room = 0;
    this.#unsaved = 0;
  }

  #save(): void {
    this.messages.save();
    this.#unsaved = 0;
  }

  #appendAll(messages: readonly NewMessage[], now: number): Appended[] {
    const appended: Appended[] = [];
    for (const message of messages) {
      const one = this.#append(message, sizeOf(message), now);
      appended.push(one);
      const { settles } = message;
      if (settles && isKept(one)) this.#settle(settles.inbox, settles.seq, now, 'acked', null);
    }
    return appended;
  }

  #append(message: NewMessage, size: number, now: number): Appended {
    const inbox = this.messages.inbox(message.inbox);
    // A repeat is told as such in a full inbox too: its sender only missed the receipt.
    const repeat = this.messages.reader.repeatOf(inbox, message);
    if (repeat) return { result: repeat };
    const isOverQuota = inbox.pendingOf(message.sender) >= this.#caps.maxPendingPerSender;
    const refusal = isOverQuota ? 'quota_exceeded' : this.#refusal(inbox, size);
    return refusal ? { result: refusal } : { result: 'stored', seq: this.#add(message, size, inbox, now) };
  }

  #add(message: NewMessage, size: number, inbox: Inbox, now: number): number {
    const seq = this.#sequence.next();
    this.messages.put(seq, inbox, message, size, now);
    this.#room -= size + messageOverheadBytes;
    this.#unsaved += size + messageOverheadBytes;
    return seq;
  }

  #refusal(inbox: Inbox, size: number): 'inbox_full' | 'storage_full' | undefined {
    if (this.#isFull(inbox, size)) return 'inbox_full';
    return this.#hasRoom(size + messageOverheadBytes) ? undefined : 'storage_full';
  }

  #isFull({ pending, bytes }: Inbox, size: number): boolean {
    const { maxInboxMessages, maxInboxBytes } = this.#caps;
    return pending >= maxInboxMessages || bytes + size > maxInboxBytes;
  }

  #hasRoom(bytes: number): boolean {
    if (bytes <= this.#room) return true;
    this.#lookForRoom();
    if (bytes <= this.#room) return true;
    // What was settled lately takes its whole place until it ages.
    this.messages.compactAll();
    this.#lookForRoom();
    return bytes <= this.#room;
  }

  #lookForRoom(): void {
    this.#room = Math.min(this.#caps.maxTotalBytes - this.#usedBytes() - this.#unsaved, trustedBytes);
  }

  /** True if it took effect. */
  #settle(inbox: string, seq: number, now: number, outcome: Outcome, reason: string | null): boolean {
    if (outcome === 'dead') {
      const message = this.messages.reader.get(inbox, seq);
      if (message) this.dead.add(message, reason, now);
    }
    return this.messages.settle(inbox, seq, now, outcome, reason);
  }

  /** Small, and never more of them than there were messages: only the inbox has a say. */
  #notify(notice: NewMessage, now: number): void {
    const inbox = this.messages.inbox(notice.inbox);
    const size = sizeOf(notice);
    if (this.#isFull(inbox, size) || this.messages.reader.repeatOf(inbox, notice)) return;
    this.#add(notice, size, inbox, now);
  }
}

function sizeOf({ body }: NewMessage): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

function isKept({ result }: Appended): boolean {
  return result === 'stored' || result === 'duplicate' || result === 'id_conflict';
}
