import { randomBytes } from 'node:crypto';
import { StoreError } from '@signalbox/store/rules';
import type { Statement } from './connection.ts';
import type { Mark, PostgresDatabase, PostgresDatabaseOptions, Session } from './database.ts';

/** The name of a broker that uses the schema alone. */
const onlyBroker = 'only';
const defaultLeaseMs = 10_000;
/** A session is renewed so often while it lives. */
const renewalsPerLease = 10;

interface SessionRow {
  broker: string;
  owner: string;
  isAlive: boolean;
  silentMs: number;
}

/**
 * The row that says that a broker lives, by the clock of the database. Each transaction writes into it, and is refused once another broker
 * has begun a session of the same name: so a broker that was stopped for longer than its lease can change nothing any more that another one
 * relies on. Of brokers that share a schema, it is refused as soon as the lease is over, because the others go on with its inboxes then. An
 * `epoch` tells the sessions apart.
 */
export class BrokerSession implements Session {
  readonly #database: PostgresDatabase;
  readonly #broker: string;
  readonly epoch: number;
  readonly #mark: Statement;
  readonly #find: Statement;
  readonly #leaseMs: number;
  #commits = 0;
  /** The number of commits when the session was renewed last. */
  #renewedAt = 0;
  readonly #timer: NodeJS.Timeout;

  private constructor(database: PostgresDatabase, broker: string, epoch: number, leaseMs: number) {
    this.#database = database;
    this.#broker = broker;
    this.epoch = epoch;
    this.#leaseMs = leaseMs;
    this.#mark = database.statement(
      `UPDATE @session SET commits = $3, alive_until = clock_timestamp() + $4 * interval '1 millisecond'
       WHERE broker = $1 AND epoch = $2 AND (broker = '${onlyBroker}' OR alive_until > clock_timestamp()) RETURNING epoch`,
    );
    this.#find = database.statement(
      'SELECT commits FROM @session WHERE broker = $1 AND epoch = $2 FOR UPDATE',
    );
    this.#timer = setInterval(() => this.#renew(), leaseMs / renewalsPerLease).unref();
  }

  /** Begins a session. Rejects with a `StoreError` `store_in_use` while another broker lives that may not run beside it. */
  static async begin(
    database: PostgresDatabase,
    { broker, owner = randomBytes(16).toString('hex'), leaseMs = defaultLeaseMs }: PostgresDatabaseOptions,
  ): Promise<BrokerSession> {
    const name = broker ?? onlyBroker;
    const epoch = await database.prepare(async (transaction) => {
      // Two brokers that start at once see each other.
      await transaction.query(database.unnamed('LOCK TABLE @session IN SHARE ROW EXCLUSIVE MODE'));
      const rows = await transaction.query<SessionRow>(
        database.unnamed(
          `SELECT broker, owner, alive_until > clock_timestamp() AS "isAlive",
             (extract(epoch FROM alive_until - clock_timestamp()) * 1000)::bigint AS "silentMs" FROM @session`,
        ),
      );
      const isInTheWay = (row: SessionRow): boolean =>
        row.isAlive &&
        row.owner !== owner &&
        (row.broker === name || broker === undefined || row.broker === onlyBroker);
      const other = rows.find(isInTheWay);
      if (other) throw inUse(database.place, other);
      const [begun] = await transaction.query<{ epoch: number }>(
        database.unnamed(
          `INSERT INTO @session AS s VALUES ($1, nextval('@session_epoch'), $2, clock_timestamp() + $3 * interval '1 millisecond', 0)
           ON CONFLICT (broker) DO UPDATE SET epoch = excluded.epoch, owner = excluded.owner, alive_until = excluded.alive_until,
             commits = 0, begun_at = excluded.begun_at
           RETURNING epoch`,
        ),
        [name, owner, leaseMs],
      );
      return begun!.epoch;
    });
    return new BrokerSession(database, name, epoch, leaseMs);
  }

  /** Returns the mark of the next transaction. */
  nextMark(): Mark {
    const commit = ++this.#commits;
    const { place } = this.#database;
    const row = [this.#broker, this.epoch];
    return {
      statement: {
        statement: this.#mark,
        values: [...row, commit, this.#leaseMs],
        check: (rows) => {
          if (rows.length === 0) throw takenOver(place);
        },
      },
      isSet: async (connection) => {
        // The lock is that of the transaction, until the server has ended it.
        const [found] = await connection.query<{ commits: number }>(this.#find, row);
        if (!found) throw takenOver(place);
        return found.commits >= commit;
      },
    };
  }

  /** Ends the session, so that the next broker need not wait. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    const statement = this.#database.unnamed(
      'UPDATE @session SET alive_until = clock_timestamp() WHERE broker = $1 AND epoch = $2',
    );
    await this.#database.transaction((transaction) =>
      transaction.query(statement, [this.#broker, this.epoch]),
    );
  }

  /** Every commit has renewed it. */
  #renew(): void {
    if (this.#commits === this.#renewedAt) this.#database.transaction(async () => {}).catch(() => {});
    this.#renewedAt = this.#commits;
  }
}

function inUse(place: string, { broker, silentMs }: SessionRow): StoreError {
  const who = broker === onlyBroker ? 'a broker' : `the broker '${broker}'`;
  return new StoreError(
    'store_in_use',
    `${place}: ${who} uses it and lives. Stop it, or name another schema in broker.store.schema. If it was killed, it counts as alive for another ${Math.ceil(silentMs / 1000)} seconds.`,
  );
}

function takenOver(place: string): StoreError {
  return new StoreError(
    'store_in_use',
    `${place}: another broker has taken it over, or may have taken its inboxes, because this one was not heard of for too long. This one changes nothing any more; start it again.`,
    undefined,
    { isFinal: true },
  );
}
