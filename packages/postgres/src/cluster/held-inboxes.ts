import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import type { ClaimRows } from './claim-rows.ts';
import { anySeq, type WakeUp, type WakeUps } from './wake-ups.ts';

/**
 * The request of a broker to take an inbox for itself, to join others that share it, or to give it back. After joining, it has claimed
 * nothing. A broker that joins again keeps what it has claimed, and leaves alone an inbox that another broker has taken for itself.
 */
type Wish = 'take' | 'join' | 'join_again' | 'give_back';

/** The last request for an inbox, with the callers that wait for it. */
interface Asked {
  wish: Wish;
  /** They get the number of {@link HeldInboxes.take}, or `undefined` if the request was refused. */
  waiting: PromiseWithResolvers<number | undefined>[];
}

interface InboxRow {
  name: string;
  incarnation: number | null;
  members: number[] | null;
  takenSeq: number;
}

/**
 * Takes, joins and gives back inboxes for a broker. Requests that come while a transaction runs go into one transaction: a broker may get
 * thousands of clients at once. A take need not survive a crash of the server, because no broker relies on more than the row of the inbox
 * says.
 */
export class HeldInboxes {
  readonly #database: PostgresDatabase;
  readonly #incarnation: number;
  readonly #wakeUps: WakeUps;
  readonly #claims: ClaimRows;
  readonly #lock: Statement;
  readonly #save: Statement;
  #asked = new Map<string, Asked>();
  #running: Promise<void> | undefined;

  constructor(
    database: PostgresDatabase,
    { incarnation, wakeUps, claims }: { incarnation: number; wakeUps: WakeUps; claims: ClaimRows },
  ) {
    this.#database = database;
    this.#incarnation = incarnation;
    this.#wakeUps = wakeUps;
    this.#claims = claims;
    // One statement makes and locks the rows: housekeeping removes idle rows, also one that was made a moment ago.
    this.#lock = database.statement(
      `INSERT INTO @inbox AS i (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO UPDATE SET name = i.name
       RETURNING name, incarnation, members, taken_seq AS "takenSeq"`,
    );
    this.#save = database.statement(
      `UPDATE @inbox i SET
         incarnation = CASE k.wish WHEN 'take' THEN $3::bigint WHEN 'give_back' THEN nullif(i.incarnation, $3) END,
         members = CASE k.wish WHEN 'take' THEN NULL WHEN 'give_back' THEN nullif(array_remove(i.members, $3), '{}')
           ELSE array_append(array_remove(i.members, $3), $3) END,
         taken_seq = CASE k.wish WHEN 'take' THEN i.head_seq ELSE i.taken_seq END
       FROM unnest($1::text[], $2::text[]) AS k(name, wish) WHERE i.name = k.name`,
    );
  }

  /** Resolves when this broker holds an inbox for itself, with the highest number of a message that may have been handed out before. */
  async take(inbox: string): Promise<number> {
    return (await this.#wait(inbox, 'take')) ?? 0;
  }

  /** Resolves when this broker shares an inbox with the others that do. */
  async join(inbox: string): Promise<number> {
    return (await this.#wait(inbox, 'join')) ?? 0;
  }

  /**
   * Makes this broker share an inbox that it shared before. Resolves with false if another broker has taken it. A newer request for the
   * inbox comes first.
   */
  async joinAgain(inbox: string): Promise<boolean> {
    return this.#asked.has(inbox) || (await this.#wait(inbox, 'join_again')) !== undefined;
  }

  giveBack(inbox: string): void {
    this.#ask(inbox, 'give_back');
  }

  /** Resolves when all requests have been carried out or have failed. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  #wait(inbox: string, wish: Wish): Promise<number | undefined> {
    const waiting = Promise.withResolvers<number | undefined>();
    this.#ask(inbox, wish).waiting.push(waiting);
    return waiting.promise;
  }

  /** Replaces the earlier request for an inbox. */
  #ask(inbox: string, wish: Wish): Asked {
    const asked = this.#asked.get(inbox) ?? { wish, waiting: [] };
    asked.wish = wish;
    this.#asked.set(inbox, asked);
    this.#running ??= this.#run();
    return asked;
  }

  async #run(): Promise<void> {
    // All requests of this turn go together.
    await new Promise(setImmediate);
    while (this.#asked.size > 0) {
      const asked = this.#asked;
      this.#asked = new Map();
      try {
        const takenSeqs = await this.#change(asked);
        for (const [inbox, { waiting }] of asked)
          for (const one of waiting) one.resolve(takenSeqs.get(inbox));
      } catch (error) {
        for (const { waiting } of asked.values()) for (const one of waiting) one.reject(error);
      }
    }
    this.#running = undefined;
  }

  async #change(asked: ReadonlyMap<string, Asked>): Promise<ReadonlyMap<string, number>> {
    const names = [...asked.keys()].sort();
    // Claims that were given back, and reappeared after a crash of the server, would keep messages from everybody. A broker that shares an
    // inbox relies on being woken.
    const isQuick = names.every((name) => asked.get(name)?.wish === 'take');
    const { notify, takenSeqs } = await this.#database.transaction(async (transaction) => {
      if (isQuick) transaction.beQuick();
      return this.#take(transaction, names, asked);
    });
    notify();
    return takenSeqs;
  }

  /**
   * Takes, joins and gives back inboxes in a transaction. Returns what notifies the other brokers whose inboxes have changed, and for each
   * granted request the highest number that may have been handed out before.
   */
  async #take(
    transaction: Transaction,
    names: readonly string[],
    asked: ReadonlyMap<string, Asked>,
  ): Promise<{ notify: () => void; takenSeqs: ReadonlyMap<string, number> }> {
    const rows = await transaction.query<InboxRow>(this.#lock, [names]);
    const own = this.#incarnation;
    // This is checked after the lock, for which the transaction may have waited: a request is withdrawn if its consumer has left. The
    // consumer may hold the inbox elsewhere by now.
    const isWithdrawn = (name: string): boolean => this.#asked.get(name)?.wish === 'give_back';
    const wishOf = (name: string): Wish =>
      isWithdrawn(name) ? 'give_back' : (asked.get(name)?.wish ?? 'give_back');
    const isGranted = ({ name, incarnation }: InboxRow): boolean =>
      wishOf(name) !== 'join_again' || incarnation === null || incarnation === own;
    const granted = rows.filter(isGranted);
    const grantedNames = granted.map(({ name }) => name);
    transaction.write(this.#save, [grantedNames, grantedNames.map(wishOf), own]);
    const free = (wishes: readonly Wish[], incarnations?: readonly number[]): void => {
      const meant = granted.filter(({ name, members }) => members && wishes.includes(wishOf(name)));
      const inboxes = meant.map(({ name }) => name);
      if (inboxes.length > 0) this.#claims.free(transaction, inboxes, incarnations);
    };
    free(['take']);
    free(['join', 'give_back'], [own]);
    const others = granted.flatMap(({ name: inbox, incarnation, members }): WakeUp[] => {
      const wish = wishOf(inbox);
      const holders = wish === 'give_back' ? [] : [incarnation];
      const sharers = wish === 'take' || wish === 'give_back' ? (members ?? []) : [];
      const seq = wish === 'give_back' ? { seq: anySeq } : {};
      return [...holders, ...sharers].flatMap((other) =>
        other !== null && other !== own ? [{ incarnation: other, inbox, ...seq }] : [],
      );
    });
    const notify = this.#wakeUps.write(transaction, others);
    return { notify, takenSeqs: new Map(granted.map(({ name, takenSeq }) => [name, takenSeq])) };
  }
}
