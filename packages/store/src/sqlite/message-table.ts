import type { Database, Statement } from 'better-sqlite3';
import type { FoundMessage, NewMessage, StoredMessage, StoredMetadata } from '../inbox-store.ts';
import { type IdRanges, readIdRanges } from './id-ranges.ts';

type Key = [id: string, inbox: string, sender: string];
type Place = [seq: number, inbox: string];
export type Content = Pick<NewMessage, 'kind' | 'correlationId' | 'body'>;
export type Nullable<T> = { [K in keyof T]-?: undefined extends T[K] ? NonNullable<T[K]> | null : T[K] };

/** Every column but the body, as it is stored and as it is read. */
export const names =
  'seq, inbox, id, sender, sender_address, sender_role, kind, correlation_id, traceparent, created_at, expires_at, attempts, size';
export const metadata = `seq, inbox, id, sender, sender_address AS senderAddress, sender_role AS senderRole, kind,
  correlation_id AS correlationId, traceparent, created_at AS createdAt, expires_at AS expiresAt, attempts, size`;

/** As far into an inbox as tried messages are looked for: no window is larger. */
const mostTried = 10_000;

/** The statements on unsettled messages. */
export class MessageTable {
  /** What it may hold: it rules most new messages out at once. */
  readonly #ids: IdRanges;
  readonly #insert: Statement<(string | number | null)[]>;
  readonly #content: Statement<Key, Nullable<Content>>;
  readonly #find: Statement<Key, FoundMessage>;
  readonly #metadata: Statement<Place, Nullable<StoredMetadata>>;
  readonly #delete: Statement<[seq: number]>;
  readonly #setAttempts: Statement<[attempts: number, ...Place]>;
  readonly #read: Statement<[inbox: string, afterSeq: number, limit: number], Nullable<StoredMessage>>;
  readonly #head: Statement<[inbox: string], number | null>;
  readonly #nextInbox: Statement<[after: string], string | null>;
  readonly #lastOfStep: Statement<[afterSeq: number, rows: number], number | null>;
  readonly #expired: Statement<[afterSeq: number, lastSeq: number, now: number], Nullable<StoredMetadata>>;
  readonly #sentWith: Statement<[tokenId: string, limit: number], Nullable<StoredMetadata>>;
  readonly #tried: Statement<[inbox: string, seqs: string, limit: number], Nullable<StoredMetadata>>;

  constructor(db: Database) {
    this.#ids = readIdRanges(db, 'message');
    // A conflict cannot happen; were it to, it must not block every commit from then on.
    this.#insert = db.prepare(
      `INSERT INTO message (${names}, body, token_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id, inbox, sender) DO NOTHING`,
    );
    const byId = 'FROM message WHERE id = ? AND inbox = ? AND sender = ?';
    this.#content = db.prepare(`SELECT kind, correlation_id AS correlationId, body ${byId}`);
    this.#find = db.prepare(`SELECT seq, kind, sender_address AS senderAddress ${byId}`);
    this.#metadata = db.prepare(`SELECT ${metadata} FROM message WHERE seq = ? AND inbox = ?`);
    // Two statements: RETURNING goes through a temporary table and costs more than finding the row twice.
    this.#delete = db.prepare('DELETE FROM message WHERE seq = ?');
    this.#setAttempts = db.prepare('UPDATE message SET attempts = ? WHERE seq = ? AND inbox = ?');
    this.#read = db.prepare(
      `SELECT ${metadata}, body FROM message WHERE inbox = ? AND seq > ? ORDER BY seq LIMIT ?`,
    );
    this.#head = db.prepare<[string], number | null>('SELECT max(seq) FROM message WHERE inbox = ?').pluck();
    this.#nextInbox = db
      .prepare<[string], string | null>('SELECT min(inbox) FROM message WHERE inbox > ?')
      .pluck();
    this.#lastOfStep = db
      .prepare<[number, number], number | null>(
        'SELECT max(seq) FROM (SELECT seq FROM message WHERE seq > ? ORDER BY seq LIMIT ?)',
      )
      .pluck();
    this.#expired = db.prepare(
      `SELECT ${metadata} FROM message WHERE seq > ? AND seq <= ? AND expires_at <= ? ORDER BY seq`,
    );
    this.#sentWith = db.prepare(`SELECT ${metadata} FROM message WHERE token_id = ? ORDER BY seq LIMIT ?`);
    this.#tried = db.prepare(
      `SELECT * FROM (SELECT ${metadata} FROM message WHERE inbox = ? ORDER BY seq LIMIT ${mostTried})
       WHERE attempts > 0 OR seq IN (SELECT value FROM json_each(?)) LIMIT ?`,
    );
  }

  /** One whose id is not there. */
  insert(seq: number, message: NewMessage, size: number, attempts: number): void {
    const { inbox, id, sender, senderAddress, senderRole, kind, createdAt, expiresAt } = message;
    const { correlationId = null, traceparent = null, body = null, tokenId = null } = message;
    // biome-ignore format: as the columns are named
    this.#insert.run(seq, inbox, id, sender, senderAddress, senderRole, kind, correlationId, traceparent, createdAt, expiresAt, attempts, size, body, tokenId);
    this.#ids.add(id);
  }

  contentOf(id: string, inbox: string, sender: string): Content | undefined {
    if (!this.#ids.mayHold(id)) return undefined;
    const there = this.#content.get(id, inbox, sender);
    if (!there) return undefined;
    const { kind, correlationId, body } = there;
    return { kind, ...(correlationId !== null && { correlationId }), ...(body !== null && { body }) };
  }

  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    return this.#ids.mayHold(id) ? this.#find.get(id, inbox, sender) : undefined;
  }

  /** Deletes a message; undefined if it isn't there or is in another inbox. */
  take(inbox: string, seq: number): StoredMetadata | undefined {
    const there = this.#metadata.get(seq, inbox);
    if (!there) return undefined;
    this.#delete.run(seq);
    return withoutNulls(there);
  }

  setAttempts(inbox: string, seq: number, attempts: number): void {
    this.#setAttempts.run(attempts, seq, inbox);
  }

  *after(inbox: string, afterSeq: number, limit: number): Iterable<StoredMessage> {
    for (const { body, ...rest } of this.#read.iterate(inbox, afterSeq, limit)) {
      yield { ...withoutNulls(rest), ...(body !== null && { body }) };
    }
  }

  sentWith(tokenId: string, limit: number): StoredMetadata[] {
    return this.#sentWith.all(tokenId, Math.max(limit, 0)).map(withoutNulls);
  }

  tried(inbox: string, seqs: readonly number[], limit: number): StoredMetadata[] {
    return this.#tried.all(inbox, JSON.stringify(seqs), Math.max(limit, 0)).map(withoutNulls);
  }

  headSeq(inbox: string): number {
    return this.#head.get(inbox) ?? 0;
  }

  inboxes(after: string, limit: number): string[] {
    return namesAfter(after, limit, this.#nextInbox);
  }

  /** Looks at up to `rows` messages after `afterSeq`; `lastSeq` is the last one looked at, 0 at the end. */
  scanExpired(afterSeq: number, rows: number, now: number): { expired: StoredMetadata[]; lastSeq: number } {
    const lastSeq = this.#lastOfStep.get(afterSeq, rows) ?? 0;
    return { expired: this.#expired.all(afterSeq, lastSeq, now).map(withoutNulls), lastSeq };
  }
}

/** `next` gives the least name after another one. */
export function namesAfter(after: string, limit: number, next: Statement<[string], string | null>): string[] {
  const names: string[] = [];
  for (let name = next.get(after); name != null && names.length < limit; name = next.get(name))
    names.push(name);
  return names;
}

export function withoutNulls(row: Nullable<StoredMetadata>): StoredMetadata {
  const { correlationId, traceparent, ...rest } = row;
  return {
    ...rest,
    ...(correlationId !== null && { correlationId }),
    ...(traceparent !== null && { traceparent }),
  };
}
