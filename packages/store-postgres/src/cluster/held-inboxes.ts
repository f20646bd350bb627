import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import type { WakeUp, WakeUps } from './wake-ups.ts';

/** The last request for an inbox, with the callers that wait for it. */
interface Asked {
  isTake: boolean;
  waiting: PromiseWithResolvers<void>[];
}

/**
 * Takes inboxes for a broker and gives them back. Requests that come while a transaction runs go into one transaction: a broker may get
 * thousands of clients at once. It need not outlive a crash of the server, because nobody acts on what the row of the inbox does not say.
 */
export class HeldInboxes {
  readonly #database: PostgresDatabase;
  readonly #session: number;
  readonly #wakeUps: WakeUps;
  readonly #make: Statement;
  readonly #lock: Statement;
  readonly #save: Statement;
  #asked = new Map<string, Asked>();
  #running: Promise<void> | undefined;

  constructor(database: PostgresDatabase, session: number, wakeUps: WakeUps) {
    this.#database = database;
    this.#session = session;
    this.#wakeUps = wakeUps;
    this.#make = database.statement(
      'INSERT INTO @inbox (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING',
    );
    this.#lock = database.statement(
      'SELECT name, session FROM @inbox WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE',
    );
    this.#save = database.statement(
      `UPDATE @inbox i SET session = CASE WHEN k.is_take THEN $3::bigint WHEN i.session = $3 THEN NULL ELSE i.session END
       FROM unnest($1::text[], $2::boolean[]) AS k(name, is_take) WHERE i.name = k.name`,
    );
  }

  /** Resolves when this broker holds an inbox. */
  take(inbox: string): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#ask(inbox, true).waiting.push(waiting);
    return waiting.promise;
  }

  giveBack(inbox: string): void {
    this.#ask(inbox, false);
  }

  /** Resolves when all that was asked is done or has failed. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** The last request for an inbox counts. */
  #ask(inbox: string, isTake: boolean): Asked {
    const asked = this.#asked.get(inbox) ?? { isTake, waiting: [] };
    asked.isTake = isTake;
    this.#asked.set(inbox, asked);
    this.#running ??= this.#run();
    return asked;
  }

  async #run(): Promise<void> {
    // All that is asked in this turn goes together.
    await new Promise(setImmediate);
    while (this.#asked.size > 0) {
      const asked = this.#asked;
      this.#asked = new Map();
      try {
        await this.#change(asked);
        for (const { waiting } of asked.values()) for (const one of waiting) one.resolve();
      } catch (error) {
        for (const { waiting } of asked.values()) for (const one of waiting) one.reject(error);
      }
    }
    this.#running = undefined;
  }

  async #change(asked: ReadonlyMap<string, Asked>): Promise<void> {
    const names = [...asked.keys()].sort();
    const made = names.filter((name) => asked.get(name)?.isTake);
    await this.#database.transaction(async (transaction) => {
      transaction.script('SET LOCAL synchronous_commit = off');
      if (made.length > 0) transaction.write(this.#make, [made]);
    });
    const wakeUps = await this.#database.transaction(async (transaction) => {
      transaction.script('SET LOCAL synchronous_commit = off');
      return this.#take(transaction, names, asked);
    });
    this.#wakeUps.notify(wakeUps);
  }

  /** Returns the wake-ups of the brokers from which inboxes were taken. */
  async #take(
    transaction: Transaction,
    names: readonly string[],
    asked: ReadonlyMap<string, Asked>,
  ): Promise<WakeUp[]> {
    const rows = await transaction.query<{ name: string; session: number | null }>(this.#lock, [names]);
    const own = this.#session;
    transaction.write(this.#save, [names, names.map((name) => asked.get(name)?.isTake ?? false), own]);
    const others = rows.flatMap(({ name, session }) =>
      session !== null && session !== own && asked.get(name)?.isTake ? [{ session, inbox: name }] : [],
    );
    this.#wakeUps.write(transaction, others);
    return others;
  }
}
