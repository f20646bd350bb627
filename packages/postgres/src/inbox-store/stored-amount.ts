import type { StoreCaps } from '@signalbox/store/rules';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';

/** The approximate size of a message besides its body. */
const messageOverheadBytes = 512;
/** The bytes that may be added before the database is asked for the stored amount again. */
const trustedBytes = 64 * 1024 * 1024;

/**
 * The bytes of everything that is stored: bodies, a part for each message, the tables of settled messages, and kept bodies. Settled rows
 * that the server has not cleared away yet do not count.
 */
export class StoredAmount {
  readonly #database: PostgresDatabase;
  readonly #caps: StoreCaps['store'];
  readonly #measure: Statement;
  #measured: number | undefined;
  /** The bytes that were added since the last measurement. */
  #added = 0;

  constructor(database: PostgresDatabase, caps: StoreCaps['store']) {
    this.#database = database;
    this.#caps = caps;
    this.#measure = database.statement(
      `SELECT ((SELECT coalesce(sum((pending + scheduled) * ${messageOverheadBytes} + bytes + scheduled_bytes), 0) FROM @inbox)
         + (SELECT coalesce(sum(size + ${messageOverheadBytes}), 0) FROM @dead_letter)
         + (SELECT coalesce(sum(pg_total_relation_size(to_regclass('@settled_' || number))), 0) FROM @slice)
         + (SELECT coalesce(sum(bytes), 0) FROM @kept_amount))::bigint AS bytes`,
    );
  }

  /** The bytes, as far as they are known. */
  get bytes(): number {
    return (this.#measured ?? 0) + this.#added;
  }

  /** Asks the database. */
  async measure(): Promise<number> {
    const added = this.#added;
    const [row] = await this.#database.read<{ bytes: number }>(this.#measure);
    this.#measured = row?.bytes ?? 0;
    // The answer may lack messages that were added since the query was sent.
    this.#added -= added;
    return this.#measured;
  }

  /** Makes sure that messages with this many bytes in total are refused only if there is no room for them now. */
  async prepare(messages: number, bytes: number): Promise<void> {
    const { bytes: cap, reservePercent } = this.#caps;
    if (cap === Number.POSITIVE_INFINITY || messages === 0) return;
    const needed = bytes + messages * messageOverheadBytes;
    const room = cap - Math.ceil((cap * reservePercent) / 100) - this.bytes;
    if (this.#measured === undefined || this.#added > trustedBytes || needed > room) await this.measure();
  }

  /** Notes what was stored. */
  add(messages: number, bytes: number): void {
    this.#added += bytes + messages * messageOverheadBytes;
  }
}
