import type { Database, Statement } from 'better-sqlite3';
import type { JournalBound, JournalClaim } from '../../inbox-store.ts';
import type { MessageReader } from '../log-structured/message-reader.ts';
import { rowChecksum } from '../row-checksum.ts';
import { MetaTable } from './meta-table.ts';

interface Binding extends JournalBound {
  generation: string;
  checksum: number;
}

/**
 * The key in `meta` of a restored store. An orchestrator may have handled messages of any inbox after the backup was made, so an inbox that
 * is not bound is foreign to every journal.
 */
const restoredKey = 'restored_at';

/**
 * The generation of the execution journal to which each inbox is bound, the number up to which its messages are foreign to that journal, and
 * its epoch.
 */
export class JournalTable {
  readonly #binding: Statement<[string], Binding>;
  readonly #save: Statement<[string, string, number, string, checksum: number]>;
  readonly #isRestored: boolean;

  constructor(db: Database, meta: MetaTable) {
    this.#binding = db.prepare(
      'SELECT generation, foreign_up_to AS foreignUpTo, epoch, checksum FROM journal WHERE inbox = ?',
    );
    this.#save = db.prepare('INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, ?)');
    this.#isRestored = meta.has(restoredKey);
  }

  /** Binds an inbox to the next generation. */
  bind(inbox: string, claim: JournalClaim, messages: MessageReader): JournalBound {
    const { next } = claim;
    const binding = this.#binding.get(inbox);
    const isSame = this.#isSame(inbox, binding, claim);
    const foreignUpTo = isSame
      ? stillPending(inbox, binding?.foreignUpTo ?? 0, messages)
      : messages.stats(inbox).headSeq;
    const epoch = (isSame ? binding?.epoch : undefined) ?? next;
    this.#save.run(inbox, next, foreignUpTo, epoch, rowChecksum(inbox, next, foreignUpTo, epoch));
    return { foreignUpTo, epoch };
  }

  /**
   * Tells whether the inbox was bound to this journal in its present state, or never to any journal. For a damaged row that is unknown, and
   * the result is false.
   */
  #isSame(inbox: string, binding: Binding | undefined, { previous, next }: JournalClaim): boolean {
    if (binding) return isSound(inbox, binding) && [...previous, next].includes(binding.generation);
    // A journal that knows a generation was bound here before, so this store is older than the journal.
    return previous.length === 0 && !this.#isRestored;
  }
}

function isSound(inbox: string, { generation, foreignUpTo, epoch, checksum }: Binding): boolean {
  return checksum === rowChecksum(inbox, generation, foreignUpTo, epoch);
}

/** Reads the rows of all inboxes. */
export function allBindings(db: Database): (Binding & { inbox: string })[] {
  return db
    .prepare<[], Binding & { inbox: string }>(
      'SELECT inbox, generation, foreign_up_to AS foreignUpTo, epoch, checksum FROM journal',
    )
    .all();
}

/** Returns the inboxes with a damaged row: all their waiting messages are foreign to a journal. */
export function damagedBindings(db: Database): string[] {
  return allBindings(db)
    .filter((row) => !isSound(row.inbox, row))
    .map(({ inbox }) => inbox);
}

/** Returns the number up to which messages are foreign, or 0 once none of them is pending. */
function stillPending(inbox: string, foreignUpTo: number, messages: MessageReader): number {
  const [first] = messages.read(inbox, 0, 1, 0);
  return first && first.seq <= foreignUpTo ? foreignUpTo : 0;
}

/** Makes every inbox of a restored store foreign to every journal. */
export function forgetJournals(db: Database, restoredAt: number): void {
  db.prepare('DELETE FROM journal').run();
  new MetaTable(db).set(restoredKey, restoredAt);
}
