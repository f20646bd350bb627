import type { Database, Statement } from 'better-sqlite3';
import type { Damage } from '../../damage.ts';
import type { DeadLetter } from '../../dead-letters.ts';
import { ageOf, type ExpiryTime } from '../../expiry-time.ts';
import {
  hasLostBody,
  type LoggedMessage,
  storedMessageOf,
  storedMetadataOf,
} from '../log-structured/logged-message.ts';
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

type Row = EncodedRecord & { seq: number };

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

  readonly #onDamage: (damage: Damage) => void;
  readonly #reported = new Set<number>();

  constructor(
    db: Database,
    monotonic: () => number,
    limits: Partial<DeadLetterLimits> = {},
    onDamage: (damage: Damage) => void = () => {},
  ) {
    this.#onDamage = onDamage;
    this.#monotonic = monotonic;
    this.#limits = { ...defaultLimits, ...limits };
    this.#insert = db.prepare('INSERT INTO dead_letter VALUES (?, ?, ?, ?, ?, ?)');
    this.#list = db.prepare(
      `SELECT seq, entries, '' AS bodies FROM dead_letter
       WHERE seq > @after AND (@inbox IS NULL OR inbox = @inbox) ORDER BY seq LIMIT @limit`,
    );
    this.#find = db.prepare('SELECT seq, entries, bodies FROM dead_letter WHERE seq = ?');
    this.#drop = db.prepare('DELETE FROM dead_letter WHERE seq = ?');
    this.#byAge = db.prepare(
      'SELECT seq, size, dead_at AS deadAt FROM dead_letter ORDER BY dead_at DESC, seq DESC',
    );
  }

  /** Keeps a copy of a pending message, which the caller settles. */
  add(message: LoggedMessage, reason: string | null, deadAt: number): void {
    const { seq, shared, size } = message;
    if (hasLostBody(message)) {
      const detail = `message '${message.id}' from '${shared.sender}' to '${shared.inbox}' (${seq}) has lost its body, and is a dead letter now`;
      this.#onDamage({ what: 'message', detail });
    }
    const ending = { at: deadAt, outcome: 'dead', reason } as const;
    const { entries, bodies } = encodeMessages([{ ...message, ending }], seq);
    this.#insert.run(seq, shared.inbox, size, deadAt, entries, bodies);
    this.#isChanged = true;
  }

  list(inbox: string | undefined, after: number, limit: number): DeadLetter[] {
    return this.#list.all({ inbox: inbox ?? null, after, limit: Math.max(limit, 0) }).flatMap((row) => {
      const message = this.#decode(row);
      return message ? [letterOf(message, storedMetadataOf(message))] : [];
    });
  }

  /** A dead letter; `damaged` if it has lost its body. Undefined if nothing of it can be read. */
  find(seq: number): (DeadLetter & { body?: string | undefined }) | undefined {
    const row = this.#find.get(seq);
    const message = row && this.#decode(row);
    if (!message) return undefined;
    const damaged = hasLostBody({ ...message, ending: undefined }) || undefined;
    return letterOf(message, { ...storedMessageOf(message), damaged });
  }

  /** All dead letters that can be read, whole. The others are reported. */
  *all(): Iterable<DeadLetter> {
    for (const { seq } of this.#byAge.all()) {
      const letter = this.find(seq);
      if (letter) yield letter;
    }
  }

  drop(seq: number): boolean {
    return this.#drop.run(seq).changes > 0;
  }

  /** Undefined, with a report, if it is damaged. */
  #decode(row: Row): LoggedMessage | undefined {
    const { messages, isWhole } = decodeMessages(row, row.seq);
    if (isWhole && messages.length === 1) return messages[0];
    if (!this.#reported.has(row.seq)) {
      this.#reported.add(row.seq);
      this.#onDamage({ what: 'dead_letter', detail: `the dead letter ${row.seq} can't be read` });
    }
    return undefined;
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

function letterOf<T>({ ending }: LoggedMessage, message: T): T & Pick<DeadLetter, 'deadAt' | 'reason'> {
  return { ...message, deadAt: ending?.at ?? 0, reason: ending?.reason ?? 'no reason given' };
}
