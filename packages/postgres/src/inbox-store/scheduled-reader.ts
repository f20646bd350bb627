import type { NewMessage, ScheduledPage, ScheduledQuery } from '@signalbox/store';
import { cursorOf, placeOf, releaseOf, scheduledMessageOf } from '@signalbox/store/rules';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { type MessageRow, messageColumns, messageOf } from './message-rows.ts';

/** A scheduled message, with the facts that a transaction which ends it needs for the counts. */
export interface ScheduledFact {
  seq: number;
  inbox: string;
  sender: string;
  isCounted: boolean;
}

/** Reads scheduled messages outside of transactions. */
export class ScheduledReader {
  readonly #database: PostgresDatabase;
  readonly #first: Statement;
  readonly #due: Statement;
  readonly #count: Statement;
  readonly #list: Statement;
  readonly #listOfSender: Statement;
  readonly #ofId: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    const columns = messageColumns('m');
    this.#first = database.statement('SELECT min(created_at) AS due FROM @scheduled');
    this.#due = database.statement(
      `SELECT ${columns}, m.body FROM (
         SELECT seq, created_at, sum(size) OVER (ORDER BY created_at, seq) AS upto, row_number() OVER (ORDER BY created_at, seq) AS place
         FROM (SELECT seq, created_at, size FROM @scheduled WHERE created_at <= $1 ORDER BY created_at, seq LIMIT $2) AS next
       ) AS k JOIN @scheduled m ON m.seq = k.seq
       WHERE k.upto <= $3::bigint OR k.place = 1 ORDER BY m.created_at, m.seq`,
    );
    this.#count = database.statement('SELECT count(*) AS count FROM @scheduled');
    const page = (condition: string) =>
      `SELECT ${columns}, m.sent_at AS "sentAt" FROM @scheduled m
       WHERE (m.created_at, m.seq) > ($1, $2) AND ($3::text IS NULL OR m.inbox = $3) AND ${condition}
       ORDER BY m.created_at, m.seq LIMIT $5`;
    this.#list = database.statement(page('$4::text IS NULL'));
    this.#listOfSender = database.statement(page('m.sender = $4'));
    this.#ofId = database.statement(
      `SELECT seq, inbox, sender, is_counted AS "isCounted", details FROM @scheduled WHERE sender = $1 AND id = $2`,
    );
  }

  async nextDueAt(): Promise<number | undefined> {
    const [row] = await this.#database.read<{ due: number | null }>(this.#first);
    return row?.due ?? undefined;
  }

  async due(at: number, limit: number, maxBytes: number): Promise<NewMessage[]> {
    const values = [Math.floor(at), Math.max(limit, 0), Math.floor(maxBytes)];
    const rows = await this.#database.read<MessageRow>(this.#due, values);
    return rows.map((row) => releaseOf(messageOf(row)));
  }

  async count(): Promise<number> {
    const [row] = await this.#database.read<{ count: number }>(this.#count);
    return row?.count ?? 0;
  }

  async list({ sender, inbox, limit, cursor }: ScheduledQuery): Promise<ScheduledPage> {
    const { due, number } = placeOf(cursor);
    const statement = sender === undefined ? this.#list : this.#listOfSender;
    const values = [due, number, inbox ?? null, sender ?? null, limit + 1];
    const rows = await this.#database.read<MessageRow & { sentAt: number }>(statement, values);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      messages: page.map(({ sentAt, ...row }) => scheduledMessageOf(messageOf(row), sentAt)),
      ...(rows.length > limit && last && { cursor: cursorOf({ due: last.createdAt, number: last.seq }) }),
    };
  }

  /** Returns a sender's messages with an id: the one to an inbox, or the copies for the members of a group. */
  async ofId(inbox: string, sender: string, id: string): Promise<ScheduledFact[]> {
    type Row = ScheduledFact & { details: string };
    const rows = await this.#database.read<Row>(this.#ofId, [sender, id]);
    const one = rows.find((row) => row.inbox === inbox);
    if (one) return [one];
    return rows.filter(({ details }) => {
      const { group } = JSON.parse(details) as { group?: { copyOf?: string } };
      return group?.copyOf === inbox;
    });
  }
}
