import type { ExpiryTime } from '@signalbox/store';
import { ageOf } from '@signalbox/store/rules';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { isGoneTable } from '../database/store-errors.ts';
import { hasIdIn, hasIdOf, isAtPlace, sliceName, sliceTable } from '../schema.ts';
import { insertSettled, settledColumns } from './message-rows.ts';

/** The limits on remembering settled messages. */
export interface RetentionLimits {
  /** The least time for which settled messages are remembered, in milliseconds. */
  dedupeWindowMs: number;
  /** The time after which they are forgotten, slice by slice, in milliseconds. */
  retentionMs: number;
  /** The total size beyond which old slices are dropped sooner, but never within the dedupe window. */
  retentionBytes: number;
}

/** The approximate number of slices within each limit. */
const slicesPerLimit = 24;
/** A slice takes settled messages for at least the dedupe window divided by this, so that few slices are within the window. */
const slicesPerWindow = 2;
const dropsPerStep = 8;
/** The most attempts of a read that meets a slice which was dropped meanwhile. */
export const maxAttempts = 10;
/** The time after the end of a slice in which a transaction that began earlier may still settle messages in it, in milliseconds. */
const lateMs = 10_000;

/** A span of time, with a table of the messages that were settled in it. */
export interface Slice {
  number: number;
  begunAt: number;
  /** Null for the slice into which messages are settled now. */
  endedAt: number | null;
}

/** The statements that name slices in their text. They are made again when a slice is added or removed. */
export interface SliceStatements {
  /** The slices of the statements, the newest first. */
  readonly slices: readonly Slice[];
  /** Reads the settled messages with an inbox, an id and a sender, given as three arrays. */
  readonly byId: Statement;
  /** Fails unless what a transaction took for granted is so: see {@link guardOf}. */
  readonly guard: Statement;
  /** Reads the settled messages in the inboxes of an array with an id, of a sender, or of any for NULL. */
  readonly byIdOfAny: Statement;
  /**
   * Settles pending messages, given the arrays of inboxes, numbers, outcomes, reasons and `answered`, and the time. Keeps dead ones whole.
   */
  readonly settle: Statement;
  /** Adds messages that are settled already. */
  readonly add: Statement;
}

/** The tables of settled messages. */
export class SettledSlices {
  /** All slices, the newest first. */
  readonly list: Statement;
  readonly #database: PostgresDatabase;
  readonly #limits: RetentionLimits;
  readonly #now: () => number;
  readonly #sizes: Statement;
  #statements: SliceStatements | undefined;

  constructor(database: PostgresDatabase, limits: RetentionLimits, now: () => number) {
    this.#database = database;
    this.#limits = limits;
    this.#now = now;
    const columns = 'number, begun_at AS "begunAt", ended_at AS "endedAt"';
    this.list = database.statement(`SELECT ${columns} FROM @slice ORDER BY number DESC`);
    this.#sizes = database.statement(
      `SELECT ${columns}, pg_total_relation_size(to_regclass('@settled_' || number)) AS bytes FROM @slice ORDER BY number DESC`,
    );
  }

  /** Returns the statements for the slices that existed at the last look. */
  async statements(): Promise<SliceStatements> {
    return this.#statements ?? this.refresh();
  }

  /** Reads which slices there are. */
  async refresh(): Promise<SliceStatements> {
    return this.use(await this.#database.read<Slice>(this.list));
  }

  /** Reads from the slices that exist now. */
  async reading<T>(read: (statements: SliceStatements) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const statements = await this.refresh();
      try {
        return await read(statements);
      } catch (thrown) {
        if (attempt === maxAttempts || !isGoneTable(thrown)) throw thrown;
      }
    }
  }

  /** Makes statements for these slices, if they differ from the present ones. */
  use(slices: readonly Slice[]): SliceStatements {
    const known = this.#statements;
    const isSame =
      known?.slices.length === slices.length &&
      known.slices.every(({ number }, at) => number === slices[at]?.number);
    if (known && isSame) return known;
    this.#statements = this.#make(slices);
    return this.#statements;
  }

  /**
   * Does one small step of housekeeping: begins another slice if the present one was used for long enough, and drops some old ones if
   * `mayForget`. Requests of a slice that can still be answered are written down before it is dropped.
   */
  async tidy(time: ExpiryTime, mayForget: boolean): Promise<void> {
    const slices = await this.#database.read<Slice & { bytes: number }>(this.#sizes);
    const [current, ...ended] = slices;
    if (current && this.#isLongEnough(current)) await this.#begin(current.number);
    if (!mayForget) return;
    const { dedupeWindowMs, retentionMs, retentionBytes } = this.#limits;
    let bytes = slices.reduce((sum, slice) => sum + slice.bytes, 0);
    let drops = 0;
    for (const slice of ended.toReversed()) {
      const age = ageOf(slice.endedAt ?? time.latest, time) - lateMs;
      if (age < dedupeWindowMs || (age < retentionMs && bytes <= retentionBytes)) continue;
      bytes -= slice.bytes;
      await this.#drop(slice.number, time.earliest);
      if (++drops === dropsPerStep) return;
    }
  }

  #isLongEnough({ begunAt, bytes }: Slice & { bytes: number }): boolean {
    const { dedupeWindowMs, retentionMs, retentionBytes } = this.#limits;
    const age = this.#now() - begunAt;
    if (age < dedupeWindowMs / slicesPerWindow) return false;
    return age >= retentionMs / slicesPerLimit || bytes >= retentionBytes / slicesPerLimit;
  }

  /** Ends a slice and begins the next one, unless another broker has done so. */
  async #begin(current: number): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      const [ended] = await transaction.query(
        this.#database.unnamed(
          'UPDATE @slice SET ended_at = $2 WHERE number = $1 AND ended_at IS NULL RETURNING number',
        ),
        [current, Math.floor(this.#now())],
      );
      if (ended) transaction.script(this.#database.inSchema(sliceTable(current + 1, this.#now())));
    });
  }

  async #drop(number: number, now: number): Promise<void> {
    const name = sliceName(number);
    await this.#database.transaction(async (transaction) => {
      const [dropped] = await transaction.query(
        this.#database.unnamed('DELETE FROM @slice WHERE number = $1 RETURNING number'),
        [number],
      );
      if (!dropped) return;
      // A reply that came between the next two statements would mark its request in a table that goes away.
      transaction.write(this.#database.unnamed(`LOCK TABLE @${name}`));
      transaction.write(
        this.#database.unnamed(
          `INSERT INTO @open_request SELECT seq, sender, id, inbox, open_until, answered OR outcome <> 'acked', coalesce(takers, '{}'), details
           FROM @${name} WHERE open_until > $1`,
        ),
        [Math.floor(now)],
      );
      transaction.write(this.#database.unnamed(`DROP TABLE @${name}`));
    });
  }

  #make(slices: readonly Slice[]): SliceStatements {
    const [current] = slices;
    if (!current) throw new Error('there is no table for settled messages');
    const database = this.#database;
    const name = sliceName(current.number);
    const byId = slices.map(
      ({ number }) =>
        `SELECT ${settledColumns('m')}, ${number} AS slice FROM unnest($1::text[], $2::text[], $3::text[]) AS k(inbox, id, sender)
         JOIN @${sliceName(number)} m ON ${hasIdOf('m', 'k')}`,
    );
    const byIdOfAny = slices.map(
      ({ number }) =>
        `SELECT ${settledColumns('m')} FROM unnest($1::text[]) AS k(inbox)
         JOIN @${sliceName(number)} m ON ${hasIdIn('m.', 'k.inbox', '$2')} WHERE $3::text IS NULL OR m.sender = $3`,
    );
    const columns = 'inbox, seq, id, sender, kind, created_at, expires_at, open_until, size';
    return {
      slices,
      byId: database.statement(byId.join(' UNION ALL ')),
      guard: database.statement(guardOf(slices)),
      byIdOfAny: database.statement(byIdOfAny.join(' UNION ALL ')),
      settle: database.statement(
        `WITH gone AS (
           DELETE FROM @message m USING unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::boolean[])
             AS k(inbox, seq, outcome, reason, is_answered)
           WHERE ${isAtPlace('m', 'k')} RETURNING m.*, outcome, reason, is_answered
         ), dead AS (
           INSERT INTO @dead_letter (${columns}, token_id, is_counted, attempts, answered, takers, details, body, dead_at, reason)
           SELECT ${columns}, token_id, is_counted, attempts, is_answered, takers, details, body, $6::bigint, reason
           FROM gone WHERE outcome = 'dead'
         )
         INSERT INTO @${name} SELECT ${columns}, is_answered, takers, details, $6::bigint, outcome, reason FROM gone`,
      ),
      add: database.statement(insertSettled(name)),
    };
  }
}

/**
 * SQL that fails with a division by zero if a transaction that has read nothing may not continue. Given are the inboxes, ids and senders of
 * its messages as arrays, the broker and its epoch, the last epoch of all, the first sequence number, and how many there are. The
 * transaction may continue if its incarnation has written its row, if no other one lives or has begun meanwhile, if none of the ids is
 * known, and if the sequence gives the expected numbers. No other incarnation begins before the transaction ends, since that would lock the
 * whole table.
 */
function guardOf(slices: readonly Slice[]): string {
  const keys = 'unnest($1::text[], $2::text[], $3::text[]) AS k(inbox, id, sender)';
  const known = ['message', ...slices.map(({ number }) => sliceName(number))].map(
    (table) => `EXISTS (SELECT FROM ${keys} JOIN @${table} m ON ${hasIdOf('m', 'k')})`,
  );
  return `SELECT 1 / (CASE WHEN EXISTS (
        SELECT FROM @incarnation WHERE broker = $4 AND epoch = $5 AND xmin = pg_current_xact_id()::xid
      ) AND NOT EXISTS (SELECT FROM @incarnation WHERE NOT is_over AND epoch <> $5)
      AND (SELECT last_value FROM @incarnation_epoch) = $6
      AND NOT (${known.join(' OR ')})
      AND (SELECT coalesce(bool_and(number = $7 + place - 1), true) FROM (
        SELECT nextval('@message_seq') AS number, place FROM generate_series(1, $8::int) AS place
      ) AS drawn) THEN 1 ELSE 0 END) AS may_continue`;
}
