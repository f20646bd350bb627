import type { PartOfCount } from './count-table.ts';
import { jsonText } from './json-text.ts';
import type { RecentMessage } from './recent-message.ts';

/** One inbox, as far as it is in memory: what is pending there, wherever it is kept, and its recent messages. */
export class Inbox {
  readonly name: string;
  /** Its name as JSON. */
  readonly json: string;
  pending = 0;
  bytes = 0;
  /** By their sequence numbers, in order. */
  readonly unsettled = new Map<number, RecentMessage>();
  /** Settled ones, too. Several of one id, the newest first, are linked: other senders', or a dead letter that came back. */
  readonly #byId = new Map<string, RecentMessage>();
  readonly #bySender = new Map<string, { pending: number }>();

  constructor(name: string, parts: readonly PartOfCount[]) {
    this.name = name;
    this.json = jsonText(name);
    for (const { sender, pending, bytes } of parts) {
      this.pending += pending;
      this.bytes += bytes;
      this.#bySender.set(sender, { pending });
    }
  }

  get isEmpty(): boolean {
    return this.pending === 0 && this.#byId.size === 0;
  }

  pendingOf(sender: string): number {
    return this.#bySender.get(sender)?.pending ?? 0;
  }

  /** One more is pending. */
  count(sender: string, size: number): void {
    this.pending++;
    this.bytes += size;
    const known = this.#bySender.get(sender);
    if (known) known.pending++;
    else this.#bySender.set(sender, { pending: 1 });
  }

  /** One is pending no more. */
  uncount(sender: string, size: number): void {
    this.pending--;
    this.bytes -= size;
    const known = this.#bySender.get(sender);
    if (known && --known.pending <= 0) this.#bySender.delete(sender);
  }

  find(id: string, sender: string): RecentMessage | undefined {
    let one = this.#byId.get(id);
    while (one !== undefined && one.sender !== sender) one = one.sameId;
    return one;
  }

  add(recent: RecentMessage): void {
    const { id } = recent;
    recent.sameId = this.#byId.get(id);
    this.#byId.set(id, recent);
    this.unsettled.set(recent.seq, recent);
  }

  /** After older ones than those that were here came back to be recent. */
  sort(): void {
    const sorted = [...this.unsettled.values()].sort((a, b) => a.seq - b.seq);
    this.unsettled.clear();
    for (const recent of sorted) this.unsettled.set(recent.seq, recent);
  }

  /** One of the recent ones is pending no more, but still remembered. */
  settle({ seq, sender, size }: RecentMessage): void {
    this.unsettled.delete(seq);
    this.uncount(sender, size);
  }

  /** No word on whether it is pending: it may have gone to the table. */
  remove(recent: RecentMessage): void {
    if (recent.ending === undefined) this.unsettled.delete(recent.seq);
    const { id, sameId } = recent;
    let one = this.#byId.get(id);
    if (one === recent) {
      if (sameId) this.#byId.set(id, sameId);
      else this.#byId.delete(id);
      return;
    }
    while (one !== undefined && one.sameId !== recent) one = one.sameId;
    if (one) one.sameId = sameId;
  }
}
