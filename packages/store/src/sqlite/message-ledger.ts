import type { Database } from 'better-sqlite3';
import type { Retried } from '../dead-letters.ts';
import type { Appended, Batch, InboxStats, NewMessage, Settlement, StoreCaps } from '../inbox-store.ts';
import { usedBytesReader } from './database.ts';
import { type DeadLetterLimits, DeadLetterTable, defaultDeadLetterLimits } from './dead-letter-table.ts';
import { type InboxCount, InboxCounts } from './inbox-counts.ts';
import { Messages, type RecentLimits } from './messages.ts';
import { SequenceNumbers } from './sequence-numbers.ts';
import type { RetentionLimits } from './settled-pages.ts';

/** Roughly what a message takes in the file besides its body. */
const messageOverheadBytes = 512;
/** So much may come before it is looked again how much is stored. */
const trustedBytes = 16 * 1024 * 1024;

export interface LedgerLimits {
  caps: StoreCaps;
  kept: RetentionLimits & RecentLimits;
  deadLetters: Partial<DeadLetterLimits> | undefined;
}

/** The rules by which messages come, end and come back, on all tables at once. Transactions are the caller's. */
export class MessageLedger {
  readonly messages: Messages;
  readonly dead: DeadLetterTable;
  readonly #caps: StoreCaps;
  readonly #counts: InboxCounts;
  readonly #sequence: SequenceNumbers;
  readonly #usedBytes: () => number;
  /** What surely fits, within {@link trustedBytes}. */
  #room = 0;
  /** What came in this transaction. */
  #unsaved = 0;

  constructor(db: Database, limits: LedgerLimits, now: number) {
    this.#caps = limits.caps;
    this.messages = new Messages(db, limits.kept, now);
    this.#counts = new InboxCounts((inbox) => this.messages.partsOf(inbox));
    this.dead = new DeadLetterTable(db, { ...defaultDeadLetterLimits, ...limits.deadLetters });
    this.#sequence = new SequenceNumbers(db);
    this.#usedBytes = usedBytesReader(db);
  }

  apply({ messages, attempts, settlements }: Batch, now: number): Appended[] {
    const appended = this.#appendAll(messages, now);
    for (const { inbox, seq, attempts: count } of attempts) this.messages.setAttempts(inbox, seq, count);
    for (const settlement of settlements) this.#settle(settlement, now);
    this.#save();
    return appended;
  }

  stats(inbox: string): InboxStats {
    const { pending, bytes } = this.#counts.of(inbox);
    return { pending, bytes, headSeq: this.messages.headSeq(inbox) };
  }

  usage(): { usedBytes: number; maxBytes: number } {
    return { usedBytes: this.#usedBytes(), maxBytes: this.#caps.maxTotalBytes };
  }

  /** Takes a dead letter back. That its id counts as settled is no obstacle: it is the same message. */
  retry(seq: number, now: number): Retried {
    const letter = this.dead.find(seq);
    if (!letter) return { result: 'unknown' };
    const { inbox, sender, size } = letter;
    const count = this.#counts.of(inbox);
    const refusal = this.#refusal(count, size);
    if (refusal) return { result: refusal };
    const { id, reason, deadAt, attempts, seq: _, size: __, ...message } = letter;
    if (this.messages.isWaiting(id, inbox, sender)) return { result: 'id_conflict' };
    this.dead.drop(seq);
    const times = { createdAt: now, expiresAt: now + letter.expiresAt - letter.createdAt };
    const again = this.#add({ ...message, id, ...times }, size, count, now);
    this.#save();
    return { result: 'stored', inbox, seq: again };
  }

  /** A small step of housekeeping, in a transaction. */
  tidy(now: number): void {
    this.messages.ageOld(now);
    this.messages.pages.drop(now);
    this.#counts.forgetEmpty();
  }

  /** After a rollback, which has made what is in memory doubtful. */
  forget(now: number): void {
    this.messages.reload(now);
    this.#counts.clear();
    this.#sequence.reload();
    this.#room = 0;
    this.#unsaved = 0;
  }

  #save(): void {
    this.messages.save();
    this.#unsaved = 0;
  }

  #appendAll(messages: readonly NewMessage[], now: number): Appended[] {
    return messages.map((message) => {
      const appended = this.#append(message, sizeOf(message), now);
      if (message.settles && isKept(appended)) this.#settle({ ...message.settles, outcome: 'acked' }, now);
      return appended;
    });
  }

  #append(message: NewMessage, size: number, now: number): Appended {
    const { inbox, sender } = message;
    // A repeat is told as such in a full inbox too: its sender only missed the receipt.
    const repeat = this.messages.repeatOf(message);
    if (repeat) return { result: repeat };
    const count = this.#counts.of(inbox);
    const isOverQuota = (count.bySender.get(sender) ?? 0) >= this.#caps.maxPendingPerSender;
    const refusal = isOverQuota ? 'quota_exceeded' : this.#refusal(count, size);
    return refusal ? { result: refusal } : { result: 'stored', seq: this.#add(message, size, count, now) };
  }

  #add(message: NewMessage, size: number, count: InboxCount, now: number): number {
    const seq = this.#sequence.next();
    this.messages.add(seq, message, size, now);
    this.#counts.add(count, message.sender, size);
    this.#room -= size + messageOverheadBytes;
    this.#unsaved += size + messageOverheadBytes;
    return seq;
  }

  #refusal(count: InboxCount, size: number): 'inbox_full' | 'storage_full' | undefined {
    if (this.#isFull(count, size)) return 'inbox_full';
    return this.#hasRoom(size + messageOverheadBytes) ? undefined : 'storage_full';
  }

  #isFull({ pending, bytes }: InboxCount, size: number): boolean {
    const { maxInboxMessages, maxInboxBytes } = this.#caps;
    return pending >= maxInboxMessages || bytes + size > maxInboxBytes;
  }

  #hasRoom(bytes: number): boolean {
    if (bytes <= this.#room) return true;
    this.#lookForRoom();
    if (bytes <= this.#room) return true;
    // What was settled lately takes its whole place until it ages.
    this.messages.ageAll();
    this.#lookForRoom();
    return bytes <= this.#room;
  }

  #lookForRoom(): void {
    this.#room = Math.min(this.#caps.maxTotalBytes - this.#usedBytes() - this.#unsaved, trustedBytes);
  }

  #settle(
    { inbox, seq, outcome, reason = null, notice }: Omit<Settlement, 'reason'> & { reason?: string | null },
    now: number,
  ): void {
    if (outcome === 'dead') {
      const [message] = this.messages.read(inbox, seq - 1, 1, 1);
      if (message?.seq === seq) this.dead.bury(message, reason, now);
    }
    const settled = this.messages.settle(inbox, seq, { at: now, outcome, reason });
    if (!settled) return;
    this.#counts.remove(inbox, settled.sender, settled.size);
    if (notice) this.#notify(notice, now);
  }

  /** Small, and never more of them than there were messages: only the inbox has a say. */
  #notify(notice: NewMessage, now: number): void {
    const count = this.#counts.of(notice.inbox);
    const size = sizeOf(notice);
    if (this.#isFull(count, size) || this.messages.repeatOf(notice)) return;
    this.#add(notice, size, count, now);
  }
}

function sizeOf({ body }: NewMessage): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

function isKept({ result }: Appended): boolean {
  return result === 'stored' || result === 'duplicate' || result === 'id_conflict';
}
