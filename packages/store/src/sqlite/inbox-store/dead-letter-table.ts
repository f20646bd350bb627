import type { Database, Statement } from 'better-sqlite3';
import type { DeadLetter } from '../../dead-letters.ts';
import type { StoredMessage } from '../../inbox-store.ts';

export interface DeadLetterLimits {
  maxAgeMs: number;
  maxCount: number;
  maxBytes: number;
}

const MiB = 1024 * 1024;

export const defaultDeadLetterLimits: DeadLetterLimits = {
  maxAgeMs: 30 * 24 * 60 * 60 * 1000,
  maxCount: 10_000,
  maxBytes: 256 * MiB,
};

/** Most dead letters dropped in one step. */
const dropsPerStep = 500;
/** Without new ones only their age can be over the bounds, and nobody counts its minutes. */
const quietTrimMs = 60_000;

/** Every column of a message but its body, as they are written and as they are read. */
const names =
  'seq, inbox, id, sender, sender_address, sender_role, kind, correlation_id, traceparent, created_at, expires_at, attempts, size';
const metadata = `seq, inbox, id, sender, sender_address AS senderAddress, sender_role AS senderRole, kind,
  correlation_id AS correlationId, traceparent, created_at AS createdAt, expires_at AS expiresAt, attempts, size`;

type Row = Omit<DeadLetter, 'correlationId' | 'traceparent' | 'reason'> & {
  correlationId: string | null;
  traceparent: string | null;
  reason: string | null;
};

/** The statements on dead letters. */
export class DeadLetterTable {
  readonly #bury: Statement<(string | number | null)[]>;
  readonly #list: Statement<{ inbox: string | null; after: number; limit: number }, Row>;
  readonly #find: Statement<[seq: number], Row & { body: string | null }>;
  readonly #drop: Statement<[seq: number]>;
  readonly #byAge: Statement<[], { seq: number; size: number; deadAt: number }>;
  readonly #limits: DeadLetterLimits;
  #isChanged = true;
  #trimmedAt = 0;

  constructor(db: Database, limits: DeadLetterLimits) {
    this.#limits = limits;
    this.#bury = db.prepare(
      `INSERT INTO dead_letter (${names}, dead_at, reason, body) VALUES (${names.replace(/\w+/g, '?')}, ?, ?, ?)`,
    );
    const columns = `${metadata}, dead_at AS deadAt, reason`;
    this.#list = db.prepare(
      `SELECT ${columns} FROM dead_letter WHERE seq > @after AND (@inbox IS NULL OR inbox = @inbox) ORDER BY seq LIMIT @limit`,
    );
    this.#find = db.prepare(`SELECT ${columns}, body FROM dead_letter WHERE seq = ?`);
    this.#drop = db.prepare('DELETE FROM dead_letter WHERE seq = ?');
    this.#byAge = db.prepare(
      'SELECT seq, size, dead_at AS deadAt FROM dead_letter ORDER BY dead_at DESC, seq DESC',
    );
  }

  /** Keeps a whole copy of a message; the message itself is the caller's to settle. */
  bury(message: StoredMessage, reason: string | null, deadAt: number): void {
    const { seq, inbox, id, sender, senderAddress, senderRole, kind, createdAt, expiresAt, attempts, size } =
      message;
    const { correlationId = null, traceparent = null, body = null } = message;
    const from = [sender, senderAddress, senderRole] as const;
    const rest = [createdAt, expiresAt, attempts, size, deadAt, reason, body] as const;
    this.#bury.run(seq, inbox, id, ...from, kind, correlationId, traceparent, ...rest);
    this.#isChanged = true;
  }

  list(inbox: string | undefined, after: number, limit: number): DeadLetter[] {
    return this.#list.all({ inbox: inbox ?? null, after, limit: Math.max(limit, 0) }).map(toDeadLetter);
  }

  find(seq: number): (DeadLetter & { body?: string }) | undefined {
    const row = this.#find.get(seq);
    if (!row) return undefined;
    const { body, ...rest } = row;
    return { ...toDeadLetter(rest), ...(body !== null && { body }) };
  }

  drop(seq: number): boolean {
    return this.#drop.run(seq).changes > 0;
  }

  /** Some of those beyond the bounds, oldest first. */
  surplus(now: number): DeadLetter[] {
    if (!this.#isChanged && now - this.#trimmedAt < quietTrimMs) return [];
    const { maxAgeMs, maxCount, maxBytes } = this.#limits;
    const surplus: number[] = [];
    let count = 0;
    let bytes = 0;
    for (const { seq, size, deadAt } of this.#byAge.iterate()) {
      count++;
      bytes += size;
      if (count > maxCount || bytes > maxBytes || now - deadAt > maxAgeMs) surplus.push(seq);
    }
    this.#isChanged = surplus.length > dropsPerStep;
    this.#trimmedAt = now;
    return surplus
      .reverse()
      .slice(0, dropsPerStep)
      .flatMap((seq) => this.list(undefined, seq - 1, 1));
  }
}

function toDeadLetter({ correlationId, traceparent, reason, ...rest }: Row): DeadLetter {
  return {
    ...rest,
    ...(correlationId !== null && { correlationId }),
    ...(traceparent !== null && { traceparent }),
    reason: reason ?? 'no reason given',
  };
}
