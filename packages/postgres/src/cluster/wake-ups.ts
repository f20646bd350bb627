import { randomInt } from 'node:crypto';
import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import type { News } from './links.ts';
import type { Notifications } from './notifications.ts';

/** An inbox at which the broker of an incarnation must look. */
export interface WakeUp {
  incarnation: number;
  inbox: string;
  /** A message of a shared inbox that may be claimed; {@link anySeq} if any may; {@link cancelledSeq} if some were cancelled. */
  seq?: number;
  /** The messages that were stored in it, if nothing else has happened. They are told only to the broker that holds the inbox. */
  stored?: NonNullable<News['stored']>;
}

/** The most rows between two looks that notifications spare. */
const mostHeard = 10_000;
/** The rows have random numbers below this one, the most that Node draws. */
const numbers = 2 ** 48 - 1;

/** Stands for any message of a shared inbox. */
export const anySeq = 0;
/** Stands for messages that were cancelled. */
export const cancelledSeq = -1;

/** The reasons why a broker must look at an inbox. */
export interface Woken {
  /** True if it held or shared the inbox. */
  isLeased: boolean;
  /** True if something may have come. */
  hasMore: boolean;
  /** True if messages were cancelled. */
  isCancelled: boolean;
  freed: number[];
}

/**
 * Tells brokers at which inboxes they must look. A row is written in the transaction that is the reason, so that it can be read when there
 * is something to see. If the reason is that messages were stored, the notification names row and inbox, and the row is needed only if the
 * notification is lost. Every user of the database can notify, but nobody can guess the number of a row before it is committed: a
 * notification that names a row was sent, or repeats one that was sent, when there was something to see.
 */
export class WakeUps {
  readonly #database: PostgresDatabase;
  readonly #incarnation: number;
  readonly #notifications: Pick<Notifications, 'notify'>;
  readonly #insert: Statement;
  readonly #find: Statement;
  readonly #drop: Statement;
  /** The inboxes that notifications have named since the last look, by the numbers of their rows. */
  #heard = new Map<number, string>();

  constructor(database: PostgresDatabase, incarnation: number, notifications: Pick<Notifications, 'notify'>) {
    this.#database = database;
    this.#incarnation = incarnation;
    this.#notifications = notifications;
    this.#insert = database.statement(
      'INSERT INTO @wake (id, incarnation, inbox, seq) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[])',
    );
    this.#find = database.statement(
      `SELECT w.id, w.inbox, w.seq,
         i.incarnation IS NOT DISTINCT FROM w.incarnation OR coalesce(w.incarnation = ANY(i.members), false) AS "isLeased"
       FROM @wake w LEFT JOIN @inbox i ON i.name = w.inbox WHERE w.incarnation = $1`,
    );
    this.#drop = database.statement('DELETE FROM @wake WHERE id = ANY($1::bigint[])');
  }

  /** Writes wake-ups in a transaction. Returns the function that notifies their brokers, to be called after the commit. */
  write(transaction: Transaction, wakeUps: readonly WakeUp[]): () => void {
    if (wakeUps.length === 0) return () => {};
    const ids = wakeUps.map(() => randomInt(numbers));
    transaction.write(this.#insert, [
      ids,
      wakeUps.map(({ incarnation }) => incarnation),
      wakeUps.map(({ inbox }) => inbox),
      wakeUps.map(({ seq }) => seq ?? null),
    ]);
    return () => {
      const byBroker = new Map<number, News[]>();
      for (const [at, { incarnation, inbox, stored }] of wakeUps.entries()) {
        const news = byBroker.get(incarnation) ?? [];
        byBroker.set(incarnation, news);
        news.push(stored ? { row: ids[at]!, inbox, stored } : {});
      }
      for (const [incarnation, news] of byBroker) this.#notifications.notify(incarnation, news);
    };
  }

  /** Notes that a row was heard of. It is dropped at the next look. */
  heard(row: number, inbox: string): void {
    if (this.#heard.size < mostHeard) this.#heard.set(row, inbox);
  }

  /** Returns the inboxes at which this broker must look, each once, but for those that a notification has named. */
  async find(): Promise<{ inboxes: Map<string, Woken>; drop: () => Promise<unknown> } | undefined> {
    const heard = this.#heard;
    this.#heard = new Map();
    const found = await this.#database.read<{
      id: number;
      inbox: string;
      seq: number | null;
      isLeased: boolean;
    }>(this.#find, [this.#incarnation]);
    if (found.length === 0) return undefined;
    const inboxes = new Map<string, Woken>();
    for (const { id, inbox, seq, isLeased } of found) {
      if (isLeased && heard.get(id) === inbox) continue;
      const woken = inboxes.get(inbox) ?? { isLeased, hasMore: false, isCancelled: false, freed: [] };
      inboxes.set(inbox, woken);
      if (seq === null) woken.hasMore = true;
      else if (seq === cancelledSeq) woken.isCancelled = true;
      else woken.freed.push(seq);
    }
    return { inboxes, drop: () => this.#database.read(this.#drop, [found.map(({ id }) => id)]) };
  }
}
