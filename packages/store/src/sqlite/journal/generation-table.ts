import type { JournalClaim } from '@signalbox/protocol';
import type { Database, Statement } from 'better-sqlite3';
import { rowChecksum } from '../row-checksum.ts';

/** The most generations that are claimed as previous ones. If the claims of a journal were never answered, it gives up some of them. */
const maxPrevious = 16;

/**
 * Keeps the generations of the journal for each inbox: the one to which the broker bound the inbox, and those of later subscriptions
 * without an answer, oldest first. A change takes effect at once; the returned function writes it.
 */
export class GenerationTable {
  readonly #save: Statement<[inbox: string, list: string, checksum: number]>;
  readonly #deleteAll: Statement<[]>;
  readonly #generations: Map<string, readonly string[]>;

  constructor(db: Database) {
    this.#generations = new Map(
      allRows(db)
        .filter(isSound)
        .map(({ inbox, list }) => [inbox, JSON.parse(list)]),
    );
    this.#deleteAll = db.prepare('DELETE FROM generation');
    this.#save = db.prepare('INSERT OR REPLACE INTO generation (inbox, list, checksum) VALUES (?, ?, ?)');
  }

  /** Adds a generation to which the broker may bind the inbox. Returns the claim, and a function that writes it. */
  add(inbox: string, next: string): { claim: JournalClaim; write: () => void } {
    const known = this.#get(inbox);
    // The first one was certainly bound. Among the others, the last ones are the most likely.
    const previous = known.length > maxPrevious ? [known[0]!, ...known.slice(1 - maxPrevious)] : known;
    return { claim: { previous: [...previous], next }, write: this.#change(inbox, [...previous, next]) };
  }

  /** Gives up the generations before the one to which the broker bound the inbox. Returns a function that writes this. */
  bound(inbox: string, generation: string): () => void {
    const known = this.#get(inbox);
    return this.#change(inbox, known.slice(Math.max(0, known.indexOf(generation))));
  }

  /** Gives up all generations: from now on the broker sees another journal. */
  forgetAll(): void {
    this.#generations.clear();
    this.#deleteAll.run();
  }

  /** Returns the generation to which the inbox is certainly bound, or was bound last. */
  of(inbox: string): string | undefined {
    return this.#get(inbox)[0];
  }

  #change(inbox: string, generations: readonly string[]): () => void {
    this.#generations.set(inbox, generations);
    const list = JSON.stringify(generations);
    return () => this.#save.run(inbox, list, rowChecksum(inbox, list));
  }

  #get(inbox: string): readonly string[] {
    return this.#generations.get(inbox) ?? [];
  }
}

/** Lists the inboxes whose generations are damaged. Then the broker sees another journal. */
export function damagedGenerations(db: Database): string[] {
  return allRows(db)
    .filter((row) => !isSound(row))
    .map(({ inbox }) => inbox);
}

interface GenerationRow {
  inbox: string;
  list: string;
  checksum: number;
}

function allRows(db: Database): GenerationRow[] {
  return db.prepare<[], GenerationRow>('SELECT inbox, list, checksum FROM generation').all();
}

function isSound({ inbox, list, checksum }: GenerationRow): boolean {
  return checksum === rowChecksum(inbox, list);
}
