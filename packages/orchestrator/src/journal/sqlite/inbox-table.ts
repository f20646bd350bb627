import type { Database, Statement } from 'better-sqlite3';

interface Inbox {
  /** The number of subscriptions that were requested since the last answer to one. */
  unanswered: number;
  /** An orchestrator with another journal may have handled the messages up to this sequence number. */
  foreignUpTo: number;
}

/**
 * Keeps the inboxes that this journal was used with. A change counts from now on; the function that it returns writes
 * the change to the database.
 */
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

  /** Notes that a subscription was requested. Returns the write. */
  requested(name: string): () => void {
    const { unanswered, foreignUpTo } = this.#get(name);
    return this.#change(name, { unanswered: unanswered + 1, foreignUpTo });
  }

  /** Notes the answer to a subscription. Returns the write. */
  answered(name: string, { sameJournal, headSeq }: { sameJournal: boolean; headSeq: number }): () => void {
    const { unanswered, foreignUpTo } = this.#get(name);
    const isOurs = sameJournal && unanswered <= 1;
    return this.#change(name, {
      unanswered: 0,
      foreignUpTo: isOurs ? foreignUpTo : Math.max(foreignUpTo, headSeq),
    });
  }

  /** Returns the sequence number up to which messages are foreign; 0 if none are. */
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
