import type { Database } from 'better-sqlite3';
import type { FoundMessage, StoredMessage, StoredMetadata } from '../inbox-store.ts';
import { Bundles } from './bundles.ts';
import { CountTable } from './count-table.ts';
import { type Content, MessageTable } from './message-table.ts';
import type { RecentMessage } from './recent-message.ts';

/**
 * Unsettled messages that are recent no more: in bundles where many of one inbox aged at once, else a row each. Neither is
 * always older than the other. Transactions are the caller's.
 */
export class AgedMessages {
  readonly bundles: Bundles;
  readonly counts: CountTable;
  readonly #table: MessageTable;
  readonly #bundledFrom: number;

  /** So many that age at once in one inbox go as bundles. */
  constructor(db: Database, bundledFrom: number) {
    this.bundles = new Bundles(db);
    this.counts = new CountTable(db);
    this.#table = new MessageTable(db);
    this.#bundledFrom = bundledFrom;
  }

  add(messages: readonly RecentMessage[]): void {
    const byInbox = Map.groupBy(messages, ({ home }) => home);
    // By name, for neighbours in the indexes share their pages.
    const inboxes = [...byInbox.keys()].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const inbox of inboxes) this.#addTo(byInbox.get(inbox)!);
  }

  /** Takes out a message that has a row, without its body. */
  takeRow(inbox: string, seq: number): StoredMetadata | undefined {
    const taken = this.#table.take(inbox, seq);
    if (taken) this.counts.count(-1, inbox, taken.sender, taken.size);
    return taken;
  }

  /** Takes out the bundle that holds a message: all messages of it, in order. */
  takeBundle(inbox: string, seq: number): readonly StoredMessage[] {
    const taken = this.bundles.take(inbox, seq);
    for (const { sender, size } of taken) this.counts.count(-1, inbox, sender, size);
    return taken;
  }

  /** Of one that has a row. */
  setAttempts(inbox: string, seq: number, attempts: number): void {
    this.#table.setAttempts(inbox, seq, attempts);
  }

  contentOf(id: string, inbox: string, sender: string): Content | undefined {
    return this.#table.contentOf(id, inbox, sender) ?? this.bundles.find(id, inbox, sender);
  }

  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    const row = this.#table.find(id, inbox, sender);
    if (row) return row;
    const bundled = this.bundles.find(id, inbox, sender);
    return bundled && { seq: bundled.seq, kind: bundled.kind, senderAddress: bundled.senderAddress };
  }

  /** In order; rows up to `limit`. */
  after(inbox: string, afterSeq: number, limit: number): Iterable<StoredMessage> {
    return merged(this.#table.after(inbox, afterSeq, limit), this.bundles.after(inbox, afterSeq));
  }

  headSeq(inbox: string): number {
    return Math.max(this.#table.headSeq(inbox), this.bundles.headSeq(inbox));
  }

  sentWith(tokenId: string, limit: number): StoredMetadata[] {
    return this.#table.sentWith(tokenId, limit);
  }

  tried(inbox: string, seqs: readonly number[], limit: number): StoredMetadata[] {
    const bundled = seqs.map((seq) => this.bundles.get(inbox, seq)).filter((one) => one !== undefined);
    return [...bundled.map(withoutBody), ...this.#table.tried(inbox, seqs, limit)];
  }

  inboxes(after: string, limit: number): string[] {
    return [...this.#table.inboxes(after, limit), ...this.bundles.inboxes(after, limit)];
  }

  /** As `MessageTable.scanExpired`, and some in bundles. */
  scanExpired(afterSeq: number, rows: number, now: number): { expired: StoredMetadata[]; lastSeq: number } {
    const { expired, lastSeq } = this.#table.scanExpired(afterSeq, rows, now);
    return { expired: [...expired, ...this.bundles.expired(now).map(withoutBody)], lastSeq };
  }

  /** After a rollback. */
  reload(): void {
    this.bundles.reload();
    this.counts.reset();
  }

  /** Of one inbox. */
  #addTo(messages: readonly RecentMessage[]): void {
    const plain = messages.filter(({ attempts, tokenId }) => attempts === 0 && tokenId === undefined);
    plain.sort((a, b) => a.seq - b.seq);
    const isBundled = plain.length >= this.#bundledFrom && this.bundles.add(plain);
    for (const recent of messages) {
      const { seq, inbox, sender, size, attempts, tokenId } = recent;
      if (!isBundled || attempts > 0 || tokenId !== undefined) {
        this.#table.insert(seq, recent, size, attempts);
      }
      this.counts.count(1, inbox, sender, size);
    }
  }
}

/** Two that are in order, in order. */
export function* merged(
  some: Iterable<StoredMessage>,
  others: Iterable<StoredMessage>,
): Iterable<StoredMessage> {
  const rest = others[Symbol.iterator]();
  let other = rest.next();
  for (const one of some) {
    for (; !other.done && other.value.seq < one.seq; other = rest.next()) yield other.value;
    yield one;
  }
  for (; !other.done; other = rest.next()) yield other.value;
}

function withoutBody({ body: _, ...metadata }: StoredMessage): StoredMetadata {
  return metadata;
}
