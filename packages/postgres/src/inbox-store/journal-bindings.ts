import type { JournalBound, JournalClaim } from '@signalbox/store';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';

interface Row {
  generation: string | null;
  foreignUpTo: number;
  epoch: string | null;
  /** True in a copy of a store that was restored from a backup: then an inbox that is not bound is foreign to every journal. */
  isRestored: boolean;
  first: number | null;
  head: number;
}

/**
 * The generation of the execution journal to which each inbox is bound, the number up to which its messages are foreign to that journal, and
 * its epoch.
 */
export class JournalBindings {
  readonly #database: PostgresDatabase;
  readonly #lock: Statement;
  readonly #find: Statement;
  readonly #save: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#lock = database.statement(
      `INSERT INTO @inbox (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET pending = @inbox.pending`,
    );
    this.#find = database.statement(
      `SELECT j.generation, coalesce(j.foreign_up_to, 0) AS "foreignUpTo", j.epoch,
         EXISTS (SELECT FROM @meta WHERE key = 'restored_at') AS "isRestored",
         (SELECT min(seq) FROM @message WHERE inbox = $1) AS first,
         coalesce((SELECT max(seq) FROM @message WHERE inbox = $1), 0) AS head
       FROM (SELECT 1) AS one LEFT JOIN @journal j ON j.inbox = $1`,
    );
    this.#save = database.statement(
      `INSERT INTO @journal VALUES ($1, $2, $3, $4)
       ON CONFLICT (inbox) DO UPDATE
       SET generation = excluded.generation, foreign_up_to = excluded.foreign_up_to, epoch = excluded.epoch`,
    );
  }

  /** Binds an inbox to the next generation. */
  async bind(inbox: string, { previous, next }: JournalClaim): Promise<JournalBound> {
    return this.#database.transaction(async (transaction) => {
      // No message is stored in the inbox meanwhile.
      transaction.write(this.#lock, [inbox]);
      const [row] = await transaction.query<Row>(this.#find, [inbox]);
      const { generation, foreignUpTo: before, isRestored, first, head } = row!;
      const isSame =
        generation === null ? previous.length === 0 && !isRestored : [...previous, next].includes(generation);
      const foreignUpTo = !isSame ? head : first !== null && first <= before ? before : 0;
      const epoch = (isSame ? row!.epoch : undefined) ?? next;
      transaction.write(this.#save, [inbox, next, foreignUpTo, epoch]);
      return { foreignUpTo, epoch };
    });
  }
}
