import type { Database, Statement } from 'better-sqlite3';
import type { DeadLetter } from '../../dead-letters.ts';
import { ageOf, type ExpiryTime } from '../../expiry-time.ts';
import { type LoggedMessage, storedMessageOf, storedMetadataOf } from '../log-structured/logged-message.ts';
import { decodeMessages, type EncodedRecord, encodeMessages } from '../log-structured/record-codec.ts';

export interface DeadLetterLimits {
  maxAgeMs: number;
  maxCount: number;
  maxBytes: number;
}

const MiB = 1024 * 1024;

const defaultLimits: DeadLetterLimits = {
  maxAgeMs: 30 * 24 * 60 * 60 * 1000,
  maxCount: 10_000,
  maxBytes: 256 * MiB,
};

/** How many dead letters one step drops at most. */
const dropsPerStep = 500;
/** As long as no dead letter is new, only their age can pass a bound, which need not be checked more often. */
const quietTrimMs = 60_000;

type Row = EncodedRecord & { deadAt: number; reason: string | null };

/** The dead letters, one row each, with a record of the whole message as it was when it died. */
export class DeadLetterTable {
  readonly #insert: Statement<(string | number | null)[]>;
  readonly #list: Statement<{ inbox: string | null; after: number; limit: number }, Row>;
  readonly #find: Statement<[seq: number], Row>;
  readonly #drop: Statement<[seq: number]>;
  readonly #byAge: Statement<[], { seq: number; size: number; deadAt: number }>;
  readonly #limits: DeadLetterLimits;
  #isChanged = true;
  readonly #monotonic: () => number;
  /** When the last trim ended, in monotonic milliseconds. */
  #trimmedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database, monotonic: () => number, limits: Partial<DeadLetterLimits> = {}) {
    this.#monotonic = monotonic;
    this.#limits = { ...defaultLimits, ...limits };
    this.#insert = db.prepare('INSERT INTO dead_letter VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.#list = db.prepare(
      `SELECT dead_at AS deadAt, reason, entries, '' AS bodies FROM dead_letter
       WHERE seq > @after AND (@inbox IS NULL OR inbox = @inbox) ORDER BY seq LIMIT @limit`,
    );
    this.#find = db.prepare(
      'SELECT dead_at AS deadAt, reason, entries, bodies FROM dead_letter WHERE seq = ?',
    );
    this.#drop = db.prepare('DELETE FROM dead_letter WHERE seq = ?');
    this.#byAge = db.prepare(
      'SELECT seq, size, dead_at AS deadAt FROM dead_letter ORDER BY dead_at DESC, seq DESC',
    );
  }

  /** Keeps a copy of a pending message, which the caller settles. */
  add(message: LoggedMessage, reason: string | null, deadAt: number): void {
    const { entries, bodies } = encodeMessages([message]);
    const { seq, shared, size } = message;
    this.#insert.run(seq, shared.inbox, size, deadAt, reason, entries, bodies);
    this.#isChanged = true;
  }

  list(inbox: string | undefined, after: number, limit: number): DeadLetter[] {
    return this.#list
      .all({ inbox: inbox ?? null, after, limit: Math.max(limit, 0) })
      .flatMap((row) => decodeMessages(row).map((message) => letterOf(row, storedMetadataOf(message))));
  }

  find(seq: number): (DeadLetter & { body?: string | undefined }) | undefined {
    const row = this.#find.get(seq);
    const [message] = row ? decodeMessages(row) : [];
    return row && message && letterOf(row, storedMessageOf(message));
  }

  drop(seq: number): boolean {
    return this.#drop.run(seq).changes > 0;
  }

  /** Some of the dead letters that are beyond the bounds, oldest first. */
  surplus(time: ExpiryTime): DeadLetter[] {
    if (!this.#isChanged && this.#monotonic() - this.#trimmedAt < quietTrimMs) return [];
    const { maxAgeMs, maxCount, maxBytes } = this.#limits;
    const surplus: number[] = [];
    let count = 0;
    let bytes = 0;
    for (const { seq, size, deadAt } of this.#byAge.iterate()) {
      count++;
      bytes += size;
      if (count > maxCount || bytes > maxBytes || ageOf(deadAt, time) > maxAgeMs) surplus.push(seq);
    }
    this.#isChanged = surplus.length > dropsPerStep;
    this.#trimmedAt = this.#monotonic();
    return surplus
      .reverse()
      .slice(0, dropsPerStep)
      .flatMap((seq) => this.list(undefined, seq - 1, 1));
  }
}

function letterOf<T>({ deadAt, reason }: Row, message: T): T & Pick<DeadLetter, 'deadAt' | 'reason'> {
  return { ...message, deadAt, reason: reason ?? 'no reason given' };
}
