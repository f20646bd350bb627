import type { ExpiryTime } from '@signalbox/store';
import { ageOf } from '@signalbox/store/rules';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { isGoneTable } from '../database/store-errors.ts';
import { hasIdIn, idKey, sliceName, sliceTable } from '../schema.ts';
import { insertSettled, settledColumns } from './message-rows.ts';

/** The limits on remembering settled messages. */
export interface RetentionLimits {
  /** Settled messages are remembered at least this long. */
  dedupeWindowMs: number;
  /** After this time they are forgotten, slice by slice. */
  retentionMs: number;
  /** Old slices go sooner when all of them take more than this, but never within the dedupe window. */
  retentionBytes: number;
}

/** Each limit allows about so many slices. */
const slicesPerLimit = 24;
/** A slice takes settled messages for a part of the dedupe window at least, so that few slices are within the window. */
const slicesPerWindow = 2;
const dropsPerStep = 8;
/** A read that meets a slice which was dropped meanwhile is attempted so often. */
export const maxAttempts = 10;
/** A transaction that began before a slice ended may settle messages in it so much later. */
const lateMs = 10_000;

/** A span of time with a table of the messages that were settled in it. */
export interface Slice {
  number: number;
  begunAt: number;
  /** Null for the one into which messages are settled now. */
  endedAt: number | null;
}

/** The statements that name slices in their text. They are made anew when there is another slice, or one less. */
export interface SliceStatements {
  /** The slices that the statements are for, the newest first. */
  readonly slices: readonly Slice[];
  /** Reads the settled messages with an inbox, an id and a sender, given as three arrays. */
  readonly byId: Statement;
  /** Reads the settled messages in the inboxes of an array with an id, of a sender, or of any for NULL. */
  readonly byIdOfAny: Statement;
  /** Settles pending messages, given the arrays of inboxes, numbers, outcomes, reasons and `answered`, and the time. Keeps dead ones whole. */
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

  /** The statements for the slices that were there when somebody looked last. */
  async statements(): Promise<SliceStatements> {
    return this.#statements ?? this.refresh();
  }

  /** Looks which slices there are. */
  async refresh(): Promise<SliceStatements> {
    return this.use(await this.#database.read<Slice>(this.list));
  }

  /** Reads from the slices that are there now. */
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

  /** Makes statements for these slices, if they are others than before. */
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
   * Does one small step of housekeeping: begins another slice if the present one was used for long enough, and drops some that are old if
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

  /** Ends a slice and begins the next one, unless somebody else has done so. */
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
         JOIN @${sliceName(number)} m ON ${idKey('m.')} = ${idKey('k.')}`,
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
      byIdOfAny: database.statement(byIdOfAny.join(' UNION ALL ')),
      settle: database.statement(
        `WITH gone AS (
           DELETE FROM @message m USING unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::boolean[])
             AS k(k_inbox, k_seq, outcome, reason, is_answered)
           WHERE m.inbox = k_inbox AND m.seq = k_seq RETURNING m.*, outcome, reason, is_answered
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
