import type { DeadLetter } from '@signalbox/store';
import { agentOf, storedMessageOf, storedMetadataOf } from '@signalbox/store/rules';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { type MessageRow, messageColumns, messageOf } from './message-rows.ts';
import { endingOf } from './working-dead-letters.ts';

type Row = MessageRow & { deadAt: number; reason: string | null };

/** A dead letter as the bounds count it. */
export interface LetterFact {
  seq: number;
  inbox: string;
  sender: string;
  isCounted: boolean;
  size: number;
  deadAt: number;
  /** The agent that had it in its inbox. */
  recipient: string;
}

/** Reads dead letters outside of transactions. */
export class DeadLetterReader {
  readonly #database: PostgresDatabase;
  readonly #list: Statement;
  readonly #count: Statement;
  readonly #find: Statement;
  readonly #facts: Statement;
  readonly #some: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    const columns = `${messageColumns('m')}, m.dead_at AS "deadAt", m.reason`;
    this.#list = database.statement(
      `SELECT ${columns} FROM @dead_letter m WHERE ($1::text IS NULL OR m.inbox = $1) AND m.seq > $2 ORDER BY m.seq LIMIT $3`,
    );
    this.#count = database.statement('SELECT count(*) AS count FROM @dead_letter');
    this.#find = database.statement(`SELECT ${columns}, m.body FROM @dead_letter m WHERE m.seq = $1`);
    this.#facts = database.statement(
      `SELECT seq, inbox, sender, is_counted AS "isCounted", size, dead_at AS "deadAt" FROM @dead_letter
       WHERE $1::bigint IS NULL OR seq = $1 ORDER BY dead_at, seq`,
    );
    this.#some = database.statement(
      `SELECT ${columns} FROM @dead_letter m WHERE m.seq = ANY($1::bigint[]) ORDER BY m.dead_at, m.seq`,
    );
  }

  async list(inbox: string | undefined, after: number, limit: number): Promise<DeadLetter[]> {
    return this.#letters(this.#list, [inbox ?? null, after, Math.max(limit, 0)]);
  }

  async count(): Promise<number> {
    const [row] = await this.#database.read<{ count: number }>(this.#count);
    return row?.count ?? 0;
  }

  async find(seq: number): Promise<(DeadLetter & { body?: string | undefined }) | undefined> {
    const [row] = await this.#database.read<Row>(this.#find, [seq]);
    return row && { ...storedMessageOf(messageOf(row)), ...endingOf(row) };
  }

  /** Reads the facts that the bounds need about one dead letter, or about all, in the order in which they died. */
  async facts(seq?: number): Promise<LetterFact[]> {
    const rows = await this.#database.read<Omit<LetterFact, 'recipient'>>(this.#facts, [seq ?? null]);
    return rows.map((row) => ({ ...row, recipient: agentOf(row.inbox) }));
  }

  /** Returns those of some dead letters that exist. */
  async some(seqs: readonly number[]): Promise<DeadLetter[]> {
    return this.#letters(this.#some, [seqs]);
  }

  async #letters(
    statement: Statement,
    values: Parameters<PostgresDatabase['read']>[1],
  ): Promise<DeadLetter[]> {
    const rows = await this.#database.read<Row>(statement, values);
    return rows.map((row) => ({ ...storedMetadataOf(messageOf(row)), ...endingOf(row) }));
  }
}
