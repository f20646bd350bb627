import { isDeepStrictEqual } from 'node:util';
import type { Database, Statement } from 'better-sqlite3';
import { agentOf } from '../../agent-of.ts';
import type { Damage } from '../../damage.ts';
import {
  type DeadLetterLimits,
  defaultDeadLetterLimits,
  droppedOf,
  dropsPerStep,
  quietTrimMs,
} from '../../dead-letter-surplus.ts';
import type { DeadLetter } from '../../dead-letters.ts';
import type { ExpiryTime } from '../../expiry-time.ts';
import { hasLostBody, type LoggedMessage, storedMessageOf, storedMetadataOf } from '../../logged-message.ts';
import type { AgentUsage } from '../log-structured/agent-usage.ts';
import {
  decodeMessages,
  type EncodedRecord,
  encodeMessages,
  RecordEncoder,
} from '../log-structured/record-codec.ts';

type Row = EncodedRecord & { seq: number };

export interface DeadLetterDeps {
  monotonic: () => number;
  /** Counts the dead letters that are kept, from the start on. */
  usage: AgentUsage;
  onDamage: (damage: Damage) => void;
}

/** The facts of a message that its row holds beside the record. */
interface Facts {
  seq: number;
  inbox: string;
  sender: string;
  isCounted: 0 | 1;
  size: number;
  deadAt: number;
}

/** The dead letters, one row each. A row holds a record of the whole message as it was when it died. */
export class DeadLetterTable {
  readonly #insert: Statement<(string | number | Buffer | null)[]>;
  readonly #list: Statement<{ inbox: string | null; after: number; limit: number }, Row>;
  readonly #find: Statement<[seq: number], Row>;
  readonly #drop: Statement<[seq: number], Facts>;
  readonly #byAge: Statement<[], Facts>;
  readonly #limits: DeadLetterLimits;
  #isChanged = true;
  readonly #monotonic: () => number;
  readonly #usage: AgentUsage;
  /** The end of the last trim, in monotonic milliseconds. */
  #trimmedAt = Number.NEGATIVE_INFINITY;

  readonly #onDamage: (damage: Damage) => void;
  readonly #reported = new Set<number>();
  readonly #encoder = new RecordEncoder();

  constructor(
    db: Database,
    { monotonic, usage, onDamage }: DeadLetterDeps,
    limits: Partial<DeadLetterLimits> = {},
  ) {
    const facts = 'seq, inbox, sender, is_counted AS isCounted, size, dead_at AS deadAt';
    this.#onDamage = onDamage;
    this.#monotonic = monotonic;
    this.#usage = usage;
    this.#limits = { ...defaultDeadLetterLimits, ...limits };
    this.#insert = db.prepare('INSERT INTO dead_letter VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
    this.#list = db.prepare(
      `SELECT seq, entries, x'' AS bodies FROM dead_letter
       WHERE seq > @after AND (@inbox IS NULL OR inbox = @inbox) ORDER BY seq LIMIT @limit`,
    );
    this.#find = db.prepare('SELECT seq, entries, bodies FROM dead_letter WHERE seq = ?');
    this.#drop = db.prepare(`DELETE FROM dead_letter WHERE seq = ? RETURNING ${facts}`);
    this.#byAge = db.prepare(`SELECT ${facts} FROM dead_letter ORDER BY dead_at, seq`);
    this.reload();
  }

  /** Counts the rows, at the start, and after a rollback when the usage was cleared. */
  reload(): void {
    for (const facts of this.#byAge.iterate()) this.#count(facts, 1);
  }

  /** Keeps a copy of a pending message. The caller settles the message. */
  add(message: LoggedMessage, reason: string | null, deadAt: number): void {
    const { seq } = message;
    const { inbox, sender, isCounted, size } = factsOf(message);
    if (hasLostBody(message)) {
      const detail = `message '${message.id}' from '${sender}' to '${inbox}' (${seq}) has lost its body, and is a dead letter now`;
      this.#onDamage({ what: 'message', detail });
    }
    const ending = { at: deadAt, outcome: 'dead', reason } as const;
    const { entries, bodies } = encodeMessages([{ ...message, ending }], seq, this.#encoder);
    this.#insert.run(seq, inbox, sender, isCounted, size, deadAt, entries, bodies);
    this.#count({ inbox, sender, isCounted, size }, 1);
    this.#isChanged = true;
  }

  list(inbox: string | undefined, after: number, limit: number): DeadLetter[] {
    return this.#list.all({ inbox: inbox ?? null, after, limit: Math.max(limit, 0) }).flatMap((row) => {
      const message = this.#decode(row);
      return message ? [letterOf(message, storedMetadataOf(message))] : [];
    });
  }

  /** Finds a dead letter; it is `damaged` if it has lost its body. Returns `undefined` if it can't be read at all. */
  find(seq: number): (DeadLetter & { body?: string | undefined }) | undefined {
    const row = this.#find.get(seq);
    const message = row && this.#decode(row);
    if (!message) return undefined;
    const damaged = hasLostBody({ ...message, ending: undefined }) || undefined;
    return letterOf(message, { ...storedMessageOf(message), damaged });
  }

  /** Yields the messages of all readable dead letters, with the reason as their ending. */
  *messages(): Iterable<LoggedMessage> {
    for (const { seq } of this.#byAge.all()) {
      const row = this.#find.get(seq);
      const message = row && this.#decode(row);
      if (message) yield message;
    }
  }

  /** Yields all readable dead letters with their bodies. The others are reported. */
  *all(): Iterable<DeadLetter> {
    for (const { seq } of this.#byAge.all()) {
      const letter = this.find(seq);
      if (letter) yield letter;
    }
  }

  /** Yields the dead letters whose row differs from their record, in the columns by which they are found and counted. */
  *misfiled(): Iterable<number> {
    for (const { seq, ...facts } of this.#byAge.all()) {
      const row = this.#find.get(seq);
      const message = row && this.#decode(row);
      if (message && !isDeepStrictEqual(facts, factsOf(message))) yield seq;
    }
  }

  /** Drops a dead letter. Returns whether it counted against its sender, or `undefined` if there is none. */
  drop(seq: number): { isCounted: boolean } | undefined {
    const facts = this.#drop.get(seq);
    if (!facts) return undefined;
    this.#count(facts, -1);
    return { isCounted: facts.isCounted === 1 };
  }

  /** Decodes a row. Returns `undefined`, and reports it, if it is damaged. */
  #decode(row: Row): LoggedMessage | undefined {
    const { messages, isWhole } = decodeMessages(row, row.seq);
    if (isWhole && messages.length === 1) return messages[0];
    if (!this.#reported.has(row.seq)) {
      this.#reported.add(row.seq);
      this.#onDamage({ what: 'dead_letter', detail: `the dead letter ${row.seq} can't be read` });
    }
    return undefined;
  }

  /** Returns some of the dead letters beyond the bounds, the oldest first. */
  surplus(time: ExpiryTime): DeadLetter[] {
    if (!this.#isChanged && this.#monotonic() - this.#trimmedAt < quietTrimMs) return [];
    const letters = this.#byAge.all().map((facts) => ({ ...facts, recipient: agentOf(facts.inbox) }));
    const dropped = droppedOf(letters, this.#limits, time);
    this.#isChanged = dropped.length > dropsPerStep;
    this.#trimmedAt = this.#monotonic();
    return dropped.slice(0, dropsPerStep).flatMap(({ seq }) => this.list(undefined, seq - 1, 1));
  }

  #count({ inbox, sender, isCounted, size }: Omit<Facts, 'seq' | 'deadAt'>, by: 1 | -1): void {
    this.#usage.countDead(agentOf(inbox), { sender, isCounted: isCounted === 1 }, by, by * size);
  }
}

/** Returns the facts that a message's row holds, without its number. */
function factsOf({ shared, size, ending }: LoggedMessage): Omit<Facts, 'seq'> {
  const { inbox, sender, isCounted } = shared;
  return { inbox, sender, isCounted: isCounted ? 1 : 0, size, deadAt: ending?.at ?? 0 };
}

function letterOf<T>({ ending }: LoggedMessage, message: T): T & Pick<DeadLetter, 'deadAt' | 'reason'> {
  return { ...message, deadAt: ending?.at ?? 0, reason: ending?.reason ?? 'no reason given' };
}
