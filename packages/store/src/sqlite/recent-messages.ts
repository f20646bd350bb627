import type { RecentMessage } from './recent-message.ts';
import type { Ending } from './settled-message.ts';

/** The messages that came with one record. */
interface RecentRecord {
  readonly number: number;
  /** Since when they have been recent. */
  readonly since: number;
  readonly messages: RecentMessage[];
}

/** What came lately, in memory, in the order of its records. Knows nothing of what is on disk. */
export class RecentMessages {
  #records: RecentRecord[] = [];
  #size = 0;
  #recorded = 0;

  /** Bytes of all bodies in their records. */
  get recorded(): number {
    return this.#recorded;
  }
  get size(): number {
    return this.#size;
  }
  /** Since when the oldest record has been recent; undefined without any. */
  get since(): number | undefined {
    return this.#records[0]?.since;
  }

  *all(): Iterable<RecentMessage> {
    for (const { messages } of this.#records)
      for (const recent of messages) if (!recent.hasLeft) yield recent;
  }

  unsettledWhere(isMeant: (recent: RecentMessage) => boolean): RecentMessage[] {
    const found: RecentMessage[] = [];
    for (const recent of this.all()) if (recent.ending === undefined && isMeant(recent)) found.push(recent);
    return found;
  }

  add(recent: RecentMessage, record: number, now: number): void {
    const last = this.#records.at(-1);
    if (last?.number === record) last.messages.push(recent);
    else this.#records.push({ number: record, since: now, messages: [recent] });
    this.#size++;
    this.#recorded += recent.recorded;
    recent.home.add(recent);
  }

  settle(recent: RecentMessage, ending: Ending): void {
    recent.ending = ending;
    recent.body = undefined;
    recent.home.settle(recent);
  }

  /** Takes one out that is not settled, before the others of its record. */
  remove(recent: RecentMessage): void {
    recent.hasLeft = true;
    recent.body = undefined;
    this.#forget(recent);
  }

  /** Takes out whole records, the oldest ones, that `atLeast` so many came with; `upTo` is the last of them, if any. */
  takeOldest(atLeast: number): { messages: RecentMessage[]; upTo: number | undefined } {
    const messages: RecentMessage[] = [];
    let records = 0;
    for (let came = 0; records < this.#records.length && came < atLeast; records++) {
      const record = this.#records[records]!;
      came += record.messages.length;
      for (const recent of record.messages) if (!recent.hasLeft) messages.push(recent);
    }
    for (const recent of messages) this.#forget(recent);
    return { messages, upTo: this.#records.splice(0, records).at(-1)?.number };
  }

  /** How many came with records that are as old as that. */
  countSince(then: number): number {
    let count = 0;
    for (const { since, messages } of this.#records) if (since <= then) count += messages.length;
    return count;
  }

  clear(): void {
    this.#records = [];
    this.#size = 0;
    this.#recorded = 0;
  }

  #forget(recent: RecentMessage): void {
    this.#size--;
    this.#recorded -= recent.recorded;
    recent.home.remove(recent);
  }
}
