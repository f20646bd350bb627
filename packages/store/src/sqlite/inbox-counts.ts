/** What is pending in one inbox, in all and per sender. */
export interface InboxCount {
  pending: number;
  bytes: number;
  readonly bySender: Map<string, number>;
}

/** Empty inboxes that may stay in memory, because the next message to them is likely near. */
const maxEmpty = 10_000;

/** Some of what is pending in an inbox, of one sender. */
export interface PartOfCount {
  sender: string;
  pending: number;
  bytes: number;
}

/** Counts of inboxes, read at the first touch and kept up to date by their users. */
export class InboxCounts {
  readonly #counts = new Map<string, InboxCount>();
  readonly #read: (inbox: string) => Iterable<PartOfCount>;

  constructor(read: (inbox: string) => Iterable<PartOfCount>) {
    this.#read = read;
  }

  of(inbox: string): InboxCount {
    const known = this.#counts.get(inbox);
    if (known) return known;
    const count: InboxCount = { pending: 0, bytes: 0, bySender: new Map() };
    for (const { sender, pending, bytes } of this.#read(inbox)) {
      count.pending += pending;
      count.bytes += bytes;
      count.bySender.set(sender, (count.bySender.get(sender) ?? 0) + pending);
    }
    this.#counts.set(inbox, count);
    return count;
  }

  add(count: InboxCount, sender: string, size: number): void {
    count.pending++;
    count.bytes += size;
    count.bySender.set(sender, (count.bySender.get(sender) ?? 0) + 1);
  }

  remove(inbox: string, sender: string, size: number): void {
    const count = this.#counts.get(inbox);
    if (!count) return;
    count.pending--;
    count.bytes -= size;
    const left = (count.bySender.get(sender) ?? 0) - 1;
    if (left > 0) count.bySender.set(sender, left);
    else count.bySender.delete(sender);
  }

  /** After a rollback, which has made every count doubtful. */
  clear(): void {
    this.#counts.clear();
  }

  /** Part of housekeeping: memory must not grow with every inbox that ever was. */
  forgetEmpty(): void {
    if (this.#counts.size <= maxEmpty) return;
    for (const [inbox, { pending }] of this.#counts) if (pending === 0) this.#counts.delete(inbox);
  }
}
