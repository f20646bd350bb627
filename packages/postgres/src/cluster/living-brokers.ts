import type { LivingBroker } from '@signalbox/store';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { repeat } from './repeat.ts';

/** The time between two checks of the living brokers, in milliseconds. */
const lookMs = 1000;

/** SQL for the condition that the session `s` of a broker is living. */
export const sessionLives = 'NOT s.is_over';

interface BrokerRow extends LivingBroker {
  session: number;
  isNoted: boolean;
}

/**
 * Knows the living brokers. The one with the oldest session keeps house for all: a session is a lease already, so nobody has to write
 * another one. Each broker has a row in a table that a crash of the server or a promotion empties. If its own row is gone, the broker
 * writes again its data in tables of that kind.
 */
export class LivingBrokers implements AsyncDisposable {
  readonly #database: PostgresDatabase;
  readonly #session: number;
  readonly #onEmptied: () => void;
  readonly #list: Statement;
  readonly #note: Statement;
  readonly #looking: AsyncDisposable;
  #keepsHouse = false;

  constructor(database: PostgresDatabase, session: number, onEmptied: () => void) {
    this.#database = database;
    this.#session = session;
    this.#onEmptied = onEmptied;
    this.#list = database.statement(
      `SELECT s.epoch AS session, s.broker AS name, (extract(epoch FROM s.begun_at) * 1000)::bigint AS since,
         b.session IS NOT NULL AS "isNoted"
       FROM @session s LEFT JOIN @broker_state b ON b.session = s.epoch WHERE ${sessionLives} ORDER BY s.epoch`,
    );
    this.#note = database.statement('INSERT INTO @broker_state VALUES ($1) ON CONFLICT DO NOTHING');
    this.#looking = repeat(lookMs, async () => void (await this.look()));
  }

  /** True if this broker was the oldest at the last look. */
  get keepsHouse(): boolean {
    return this.#keepsHouse;
  }

  /** Returns the living brokers, the oldest first. */
  async look(): Promise<LivingBroker[]> {
    const rows = await this.#database.read<BrokerRow>(this.#list);
    this.#keepsHouse = rows[0]?.session === this.#session;
    if (rows.some(({ session, isNoted }) => session === this.#session && !isNoted)) {
      await this.#database.read(this.#note, [this.#session]);
      this.#onEmptied();
    }
    return rows.map(({ name, since }) => ({ name, since }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looking[Symbol.asyncDispose]();
  }
}
