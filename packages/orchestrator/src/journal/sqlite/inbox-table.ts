import type { Database, Statement } from 'better-sqlite3';

/** `unanswered`: subscriptions asked for since the last answer. */
interface Inbox {
  unanswered: number;
  foreignUpTo: number;
}

/** What the journal knows of the inboxes it was used with. */
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

  asked(name: string): () => void {
    const { unanswered, foreignUpTo } = this.#get(name);
    return this.#change(name, { unanswered: unanswered + 1, foreignUpTo });
  }

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

  /** In force at once; the returned write makes it last. */
  #change(name: string, inbox: Inbox): () => void {
    this.#inboxes.set(name, inbox);
    return () => this.#save.run(name, inbox.unanswered, inbox.foreignUpTo);
  }

  #get(name: string): Inbox {
    return this.#inboxes.get(name) ?? { unanswered: 0, foreignUpTo: 0 };
  }
}
