import type { Database } from 'better-sqlite3';
import type { Retried } from '../dead-letters.ts';
import type {
  Appended,
  Batch,
  FoundMessage,
  InboxStats,
  NewMessage,
  Settlement,
  StoreCaps,
} from '../inbox-store.ts';
import { usedBytesReader } from './database.ts';
import { type DeadLetterLimits, DeadLetterTable, defaultDeadLetterLimits } from './dead-letter-table.ts';
import { type InboxCount, InboxCounts } from './inbox-counts.ts';
import { MessageTable } from './message-table.ts';
import { SequenceNumbers } from './sequence-numbers.ts';
import { SettledSlices, type SliceLimits } from './settled-slices.ts';

/** Roughly what a message takes in the file besides its body. */
const messageOverheadBytes = 512;

export interface LedgerLimits {
  caps: StoreCaps;
  slices: SliceLimits;
  deadLetters: Partial<DeadLetterLimits> | undefined;
}

/** The rules by which messages come, end and come back, on all tables at once. Transactions are the caller's. */
export class MessageLedger {
  readonly messages: MessageTable;
  readonly slices: SettledSlices;
  readonly dead: DeadLetterTable;
  readonly #caps: StoreCaps;
  readonly #counts: InboxCounts;
  readonly #sequence: SequenceNumbers;
  readonly #usedBytes: () => number;

  constructor(db: Database, limits: LedgerLimits, now: number) {
    this.#caps = limits.caps;
    this.messages = new MessageTable(db);
    this.#counts = new InboxCounts(db);
    this.slices = new SettledSlices(db, limits.slices, now);
    this.dead = new DeadLetterTable(db, { ...defaultDeadLetterLimits, ...limits.deadLetters });
    this.#sequence = new SequenceNumbers(db);
    this.#usedBytes = usedBytesReader(db);
  }

  apply({ messages, attempts, settlements }: Batch, now: number): Appended[] {
    const appended = messages.length === 0 ? [] : this.#appendAll(messages, now);
    for (const { inbox, seq, attempts: count } of attempts) this.messages.setAttempts(inbox, seq, count);
    for (const settlement of settlements) this.#settle(settlement, now);
    return appended;
  }

  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    return this.messages.find(id, inbox, sender) ?? this.slices.find(id, inbox, sender);
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
    const room = this.#caps.maxTotalBytes - this.#usedBytes();
    const refusal = this.#refusal(count, size, room);
    if (refusal) return { result: refusal };
    const lifetime = letter.expiresAt - letter.createdAt;
    const as = { seq: this.#sequence.next(), createdAt: now, expiresAt: now + lifetime };
    if (!this.dead.moveBack(seq, as)) return { result: 'id_conflict' };
    this.dead.drop(seq);
    this.#counts.add(count, sender, size);
    return { result: 'stored', inbox, seq: as.seq };
  }

  /** A small step of housekeeping. */
  tidy(now: number): void {
    this.slices.rotate(now);
    this.#counts.forgetEmpty();
  }

  /** After a rollback, which has made what is in memory doubtful. */
  forget(): void {
    this.#counts.clear();
    this.#sequence.reload();
  }

  #appendAll(messages: readonly NewMessage[], now: number): Appended[] {
    let room = this.#caps.maxTotalBytes - this.#usedBytes();
    return messages.map((message) => {
      const size = sizeOf(message);
      const appended = this.#append(message, size, room);
      if (appended.result === 'stored') room -= size + messageOverheadBytes;
      if (message.settles && isKept(appended)) this.#settle({ ...message.settles, outcome: 'acked' }, now);
      return appended;
    });
  }

  #append(message: NewMessage, size: number, room: number): Appended {
    const { inbox, id, sender } = message;
    if (this.slices.find(id, inbox, sender)) return { result: 'duplicate' };
    const count = this.#counts.of(inbox);
    const isOverQuota = (count.bySender.get(sender) ?? 0) >= this.#caps.maxPendingPerSender;
    const refusal = isOverQuota ? 'quota_exceeded' : this.#refusal(count, size, room);
    if (refusal === undefined) {
      const seq = this.#sequence.next();
      if (this.#insert(seq, message, size, count)) return { result: 'stored', seq };
    }
    // A repeat is told as such in a full inbox too: its sender only missed the receipt.
    const repeat = this.messages.compare(message);
    if (repeat === 'same') return { result: 'duplicate' };
    return { result: repeat === undefined && refusal ? refusal : 'id_conflict' };
  }

  #insert(seq: number, message: NewMessage, size: number, count: InboxCount): boolean {
    const isNew = this.messages.insert(seq, message, size);
    if (isNew) this.#counts.add(count, message.sender, size);
    return isNew;
  }

  #refusal(
    { pending, bytes }: InboxCount,
    size: number,
    room: number,
  ): 'inbox_full' | 'storage_full' | undefined {
    const { maxInboxMessages, maxInboxBytes } = this.#caps;
    if (pending >= maxInboxMessages || bytes + size > maxInboxBytes) return 'inbox_full';
    return size + messageOverheadBytes > room ? 'storage_full' : undefined;
  }

  #settle(
    { inbox, seq, outcome, reason = null, notice }: Omit<Settlement, 'reason'> & { reason?: string | null },
    now: number,
  ): void {
    if (outcome === 'dead') this.dead.bury(inbox, seq, reason, now);
    const settled = this.messages.take(inbox, seq);
    if (!settled) return;
    this.slices.add(settled, outcome, reason, now);
    this.#counts.remove(inbox, settled.sender, settled.size);
    if (notice) this.#notify(notice);
  }

  /** Small, and never more of them than there were messages: only the inbox has a say. */
  #notify(notice: NewMessage): void {
    const { id, inbox, sender } = notice;
    const count = this.#counts.of(inbox);
    const size = sizeOf(notice);
    if (this.#refusal(count, size, Number.POSITIVE_INFINITY) || this.slices.find(id, inbox, sender)) return;
    this.#insert(this.#sequence.next(), notice, size, count);
  }
}

function sizeOf({ body }: NewMessage): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

function isKept({ result }: Appended): boolean {
  return result === 'stored' || result === 'duplicate' || result === 'id_conflict';
}
