import type { PartOfCount } from './count-table.ts';
import { Inbox } from './inbox.ts';

/** Empty inboxes that may stay in memory, because the next message to them is likely near. */
const maxEmpty = 10_000;

/** Inboxes in memory, made at the first touch and kept up to date by their users. */
export class Inboxes {
  readonly #byName = new Map<string, Inbox>();
  readonly #read: (inbox: string) => readonly PartOfCount[];

  /** `read` tells what the table of messages holds. */
  constructor(read: (inbox: string) => readonly PartOfCount[]) {
    this.#read = read;
  }

  of(name: string): Inbox {
    const known = this.#byName.get(name);
    if (known) return known;
    const inbox = new Inbox(name, this.#read(name));
    this.#byName.set(name, inbox);
    return inbox;
  }

  /** One that was touched. */
  known(name: string): Inbox | undefined {
    return this.#byName.get(name);
  }

  /** Names of those with recent messages that are not settled. */
  withRecent(): string[] {
    return [...this.#byName.values()].filter(({ unsettled }) => unsettled.size > 0).map(({ name }) => name);
  }

  sort(): void {
    for (const inbox of this.#byName.values()) inbox.sort();
  }

  /** After a rollback, which has made every count doubtful. */
  clear(): void {
    this.#byName.clear();
  }

  /** Part of housekeeping: memory must not grow with every inbox that ever was. */
  forgetEmpty(): void {
    if (this.#byName.size <= maxEmpty) return;
    for (const [name, inbox] of this.#byName) if (inbox.isEmpty) this.#byName.delete(name);
  }
}
