import type { Database, Statement } from 'better-sqlite3';

/**
 * What the journal knows of one inbox. `unanswered` counts the subscriptions requested since the last answer; messages
 * up to the sequence number `foreignUpTo` may have been handled by an orchestrator with another journal.
 */
interface Inbox {
  unanswered: number;
  foreignUpTo: number;
}

/** The inboxes that this journal was used with. */
export class InboxTable {
  readonly #save: Statement<[string, number, number]>;
  readonly #inboxes: Map<string, Inbox>;

  constructor(db: Database) {
    const all = db.prepare<[], Inbox & { name: string }>(
      'SELECT name, unanswered, foreign_up_to AS foreignUpTo FROM inbox',
    );
    this.#inboxes = new Map(all.all().map(({ name, ...inbox }) => [name, inbox]));
    this.#save = db.prepare(
      'INSERT OR REPLACE INTO inbox (name, unanswered, foreign_up_to) VALUES (?, ?, ?)',
    );
  }

  /** Notes that a subscription was requested. Holds at once; the returned write makes it last. */
  requested(name: string): () => void {
    const { unanswered, foreignUpTo } = this.#get(name);
    return this.#change(name, { unanswered: unanswered + 1, foreignUpTo });
  }

  /** Notes the answer to a subscription. Holds at once; the returned write makes it last. */
  answered(name: string, { sameJournal, headSeq }: { sameJournal: boolean; headSeq: number }): () => void {
    const { unanswered, foreignUpTo } = this.#get(name);
    const isOurs = sameJournal && unanswered <= 1;
    return this.#change(name, {
      unanswered: 0,
      foreignUpTo: isOurs ? foreignUpTo : Math.max(foreignUpTo, headSeq),
    });
  }

  foreignUpTo(name: string): number {
    return this.#get(name).foreignUpTo;
  }

  #change(name: string, inbox: Inbox): () => void {
    this.#inboxes.set(name, inbox);
    return () => this.#save.run(name, inbox.unanswered, inbox.foreignUpTo);
  }

  #get(name: string): Inbox {
    return this.#inboxes.get(name) ?? { unanswered: 0, foreignUpTo: 0 };
  }
}
