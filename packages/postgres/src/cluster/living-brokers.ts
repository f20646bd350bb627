import type { LivingBroker } from '@signalbox/store';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import type { Links } from './links.ts';
import { repeat } from './repeat.ts';

/** The time between two checks of the living brokers, in milliseconds. */
const lookMs = 1000;

/** SQL for the condition that the incarnation `s` of a broker is living. */
export const incarnationLives = 'NOT s.is_over';

interface BrokerRow extends LivingBroker {
  incarnation: number;
  isNoted: boolean;
  /** The addresses at which it takes links; empty if it takes none. */
  link: string | null;
}

/**
 * Knows the living brokers. The one with the oldest incarnation keeps house for all: an incarnation is a lease already, so nobody has to
 * write another one. Each broker has a row in a table that a crash of the server or a promotion empties. If its own row is gone, the broker
 * writes again its data in tables of that kind.
 */
export class LivingBrokers implements AsyncDisposable {
  readonly #database: PostgresDatabase;
  readonly #incarnation: number;
  readonly #links: Links;
  readonly #onEmptied: () => void;
  readonly #list: Statement;
  readonly #note: Statement;
  readonly #looking: AsyncDisposable;
  #keepsHouse = false;

  constructor(database: PostgresDatabase, incarnation: number, links: Links, onEmptied: () => void) {
    this.#database = database;
    this.#incarnation = incarnation;
    this.#links = links;
    this.#onEmptied = onEmptied;
    this.#list = database.statement(
      `SELECT s.epoch AS incarnation, s.broker AS name, (extract(epoch FROM s.begun_at) * 1000)::bigint AS since,
         b.incarnation IS NOT NULL AS "isNoted", b.link
       FROM @incarnation s LEFT JOIN @broker_state b ON b.incarnation = s.epoch WHERE ${incarnationLives} ORDER BY s.epoch`,
    );
    this.#note = database.statement('INSERT INTO @broker_state VALUES ($1, $2) ON CONFLICT DO NOTHING');
    this.#looking = repeat(lookMs, async () => void (await this.look()));
  }

  /** True if this broker was the oldest at the last look. */
  get keepsHouse(): boolean {
    return this.#keepsHouse;
  }

  /** Returns the living brokers, the oldest first. */
  async look(): Promise<LivingBroker[]> {
    const rows = await this.#database.read<BrokerRow>(this.#list);
    this.#keepsHouse = rows[0]?.incarnation === this.#incarnation;
    if (rows.some(({ incarnation, isNoted }) => incarnation === this.#incarnation && !isNoted)) {
      await this.#database.read(this.#note, [this.#incarnation, this.#links.addresses.join(',')]);
      this.#onEmptied();
    }
    const links = this.#links;
    const others = rows.filter(({ incarnation }) => incarnation !== this.#incarnation);
    const linked = others.flatMap(({ incarnation, link }) =>
      link ? [{ incarnation, addresses: link.split(',') }] : [],
    );
    links.follow(linked);
    return rows.map(({ incarnation, name, since }) => {
      const mayBeLinked = links.addresses.length > 0 && linked.some((one) => one.incarnation === incarnation);
      return { name, since, ...(mayBeLinked && { isLinked: links.has(incarnation) }) };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looking[Symbol.asyncDispose]();
  }
}
