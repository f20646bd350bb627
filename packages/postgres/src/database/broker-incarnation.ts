import { randomBytes } from 'node:crypto';
import { StoreError } from '@signalbox/store/rules';
import {
  type Incarnation,
  type Mark,
  otherRows,
  type PostgresDatabase,
  type PostgresDatabaseOptions,
} from './database.ts';
import { DatabaseClock } from './database-clock.ts';
import { findLostCommits, formerOf, keptRowsMs } from './lost-commits.ts';
import { type ConfirmedCommit, MarkFile } from './mark-file.ts';
import { safeTimeline } from './server-facts.ts';
import type { Statement } from './statement.ts';
import { incarnationOver } from './store-errors.ts';

const defaultLeaseMs = 10_000;
/** The number of leases after which a broker without answers is silent. Callers that wait for the database are refused earlier. */
const leasesOfSilence = 1.2;
/** The number of renewals of a living incarnation in the time of a lease. */
const renewalsPerLease = 10;
/** The number of former identities in a mark file. */
const keptFormer = 8;
/** The part of a lease without a renewal after which an incarnation has a gap. */
const gapPerLease = 0.3;

/** SQL for the time of the database's clock, in epoch milliseconds. */
const said = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS said';

interface BegunIncarnation {
  broker: string;
  epoch: number;
  /** The identity of the schema, and those that it had before. */
  store: string;
  former: readonly string[];
  leaseMs: number;
  monotonic: () => number;
  clock: DatabaseClock;
  markFile: MarkFile | undefined;
}

interface IncarnationRow {
  owner: string;
  aliveMs: number;
}

/**
 * The row that says that a broker lives, by the clock of the database. Each transaction writes into it, and is refused once the incarnation
 * is over. An incarnation is over when it was ended, when a broker of the same name has begun another one, or when another broker has found
 * that its lease had run out, and noted that. So a broker that was stopped can no longer change anything that another one relies on. A
 * broker whose database was away continues its incarnation, because nobody could note anything: after a gap in its own incarnation, a
 * broker first gives the others the time of a lease to come back. An `epoch` distinguishes the incarnations.
 */
export class BrokerIncarnation implements Incarnation {
  readonly #database: PostgresDatabase;
  readonly #broker: string;
  readonly epoch: number;
  readonly #mark: Statement;
  readonly #find: Statement;
  readonly #endOthers: Statement;
  readonly #leaseMs: number;
  readonly #monotonic: () => number;
  readonly #clock: DatabaseClock;
  #commits = 0;
  /** The number of the last transaction that the database confirmed. A database that lacks it was restored. */
  #confirmed = 0;
  readonly #identities: Pick<ConfirmedCommit, 'store' | 'former'>;
  readonly #markFile: MarkFile | undefined;
  /** The time of the last mark that the server has answered, in monotonic milliseconds. */
  #heardAt: number;
  readonly #timer: NodeJS.Timeout;
  #isRenewing = false;

  private constructor(
    database: PostgresDatabase,
    { broker, epoch, store, former, leaseMs, monotonic, clock, markFile }: BegunIncarnation,
  ) {
    this.#database = database;
    this.#identities = { store, former: former.slice(-keptFormer) };
    this.#markFile = markFile;
    this.#broker = broker;
    this.epoch = epoch;
    this.#leaseMs = leaseMs;
    this.#monotonic = monotonic;
    this.#clock = clock;
    this.#heardAt = monotonic();
    this.#mark = database.statement(
      `UPDATE @incarnation SET commits = $3, alive_until = clock_timestamp() + $4 * interval '1 millisecond',
         alive_since = CASE WHEN alive_until > clock_timestamp() + $4 * ${1 - gapPerLease} * interval '1 millisecond'
           THEN alive_since ELSE clock_timestamp() END
       WHERE broker = $1 AND epoch = $2 AND NOT is_over AND commits >= $5 RETURNING ${said}`,
    );
    this.#endOthers = database.statement(
      `UPDATE @incarnation SET is_over = true WHERE epoch = ANY(ARRAY(
         SELECT epoch FROM @incarnation WHERE NOT is_over AND alive_until < clock_timestamp() AND (
           SELECT alive_since < clock_timestamp() - $2 * interval '1 millisecond' FROM @incarnation WHERE epoch = $1
         ) FOR UPDATE SKIP LOCKED
       ))`,
    );
    this.#find = database.statement(
      'SELECT commits FROM @incarnation WHERE broker = $1 AND epoch = $2 FOR UPDATE',
    );
    this.#timer = setInterval(() => this.#renew(), leaseMs / renewalsPerLease).unref();
  }

  /**
   * Begins an incarnation. With a mark, the database is declared restored before if it lacks what the mark names. Rejects with a
   * `StoreError`, which is `store_in_use` while another broker of the same name lives.
   */
  static async begin(
    database: PostgresDatabase,
    options: PostgresDatabaseOptions,
  ): Promise<BrokerIncarnation> {
    const { mark, monotonic = () => performance.now(), leaseMs = defaultLeaseMs } = options;
    await using opened = new AsyncDisposableStack();
    const markFile = mark && opened.use(await MarkFile.open(mark.file));
    const known = await markFile?.read();
    const lost = known && (await findLostCommits(database, known, mark?.stores ?? database.schema));
    const begun = await insertIncarnation(database, { ...options, monotonic, leaseMs });
    const { broker } = options;
    const incarnation = new BrokerIncarnation(database, { ...begun, broker, leaseMs, monotonic, markFile });
    try {
      await markFile?.start(incarnation.#confirmedCommit());
    } catch (thrown) {
      clearInterval(incarnation.#timer);
      throw thrown;
    }
    opened.move();
    if (lost !== undefined) mark?.onRestored(lost);
    return incarnation;
  }

  /** True if the server has not answered for so long that others have had time to end the incarnation. */
  get isSilent(): boolean {
    return this.#monotonic() - this.#heardAt > leasesOfSilence * this.#leaseMs;
  }

  get hasGap(): boolean {
    return this.#monotonic() - this.#heardAt > gapPerLease * this.#leaseMs;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Returns the mark of the next transaction. */
  nextMark(): Mark {
    const commit = ++this.#commits;
    const { place } = this.#database;
    const row = [this.#broker, this.epoch];
    const madeAt = this.#monotonic();
    return {
      statement: {
        statement: this.#mark,
        values: [...row, commit, this.#leaseMs, this.#confirmed],
        check: (rows) => {
          if (rows.length === 0) throw incarnationOver(place);
          this.#heardAt = madeAt;
          this.#clock.heard((rows[0] as { said: number }).said, madeAt);
        },
      },
      isSet: async (connection) => {
        // The transaction has the lock until the server has ended it.
        const [found] = await connection.query<{ commits: number }>(this.#find, row);
        if (!found) throw incarnationOver(place);
        return found.commits >= commit;
      },
      confirmed: () => {
        this.#confirmed = commit;
        this.#markFile?.write(this.#confirmedCommit());
      },
    };
  }

  async syncMark(): Promise<void> {
    await this.#markFile?.sync();
  }

  /** Ends the incarnation, so that the next broker need not wait. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await using _closed = this.#markFile;
    const statement = this.#database.unnamed(
      'UPDATE @incarnation SET alive_until = clock_timestamp(), is_over = true WHERE broker = $1 AND epoch = $2',
    );
    await this.#database.transaction((transaction) =>
      transaction.query(statement, [this.#broker, this.epoch]),
    );
  }

  #confirmedCommit(): ConfirmedCommit {
    const timeline = safeTimeline(this.#database.facts);
    const [epoch, commits, at] = [this.epoch, this.#confirmed, this.now()];
    return { ...this.#identities, broker: this.#broker, epoch, commits, timeline, at };
  }

  /** Renews the incarnation, as every commit does, and ends those whose lease has run out. */
  #renew(): void {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    this.#database
      .transaction(
        (transaction) => transaction.query(this.#endOthers, [this.epoch, this.#leaseMs]),
        otherRows,
      )
      .catch(() => {})
      .finally(() => {
        this.#isRenewing = false;
      });
  }
}

/** Makes or replaces the row of an incarnation. Rejects while another broker of the same name lives. */
async function insertIncarnation(
  database: PostgresDatabase,
  options: PostgresDatabaseOptions & Pick<BegunIncarnation, 'monotonic' | 'leaseMs'>,
): Promise<Pick<BegunIncarnation, 'epoch' | 'clock' | 'store' | 'former'>> {
  const { broker, owner = randomBytes(16).toString('hex'), monotonic, leaseMs } = options;
  return database.prepare(async (transaction) => {
    // Two brokers that start at the same time see each other.
    await transaction.query(database.unnamed('LOCK TABLE @incarnation IN SHARE ROW EXCLUSIVE MODE'));
    const rows = await transaction.query<IncarnationRow>(
      database.unnamed(
        `SELECT owner, (extract(epoch FROM alive_until - clock_timestamp()) * 1000)::bigint AS "aliveMs" FROM @incarnation
         WHERE broker = $1 AND NOT is_over AND alive_until > clock_timestamp()`,
      ),
      [broker],
    );
    const other = rows.find((row) => row.owner !== owner);
    if (other) throw inUse(database.place, broker, other);
    await transaction.query(
      database.unnamed(
        `DELETE FROM @incarnation WHERE is_over AND alive_until < clock_timestamp() - interval '${keptRowsMs} milliseconds'`,
      ),
    );
    const askedAt = monotonic();
    const [begun] = await transaction.query<{
      epoch: number;
      said: number;
      store: string;
      former: string | null;
    }>(
      database.unnamed(
        `INSERT INTO @incarnation AS s
         SELECT $1, nextval('@incarnation_epoch'), $2, now, now, now + $3 * interval '1 millisecond', false, 0 FROM clock_timestamp() AS now
         ON CONFLICT (broker) DO UPDATE SET epoch = excluded.epoch, owner = excluded.owner, begun_at = excluded.begun_at,
           alive_since = excluded.alive_since, alive_until = excluded.alive_until, is_over = false, commits = 0
         RETURNING epoch, ${said}, (SELECT value FROM @meta WHERE key = 'identity') AS store,
           (SELECT value FROM @meta WHERE key = 'former') AS former`,
      ),
      [broker, owner, leaseMs],
    );
    const { epoch, said: at, store, former } = begun!;
    return { epoch, store, former: formerOf(former), clock: new DatabaseClock(monotonic, at, askedAt) };
  });
}

function inUse(place: string, broker: string, { aliveMs }: IncarnationRow): StoreError {
  return new StoreError(
    'store_in_use',
    `${place}: another broker with the name '${broker}' uses it and lives. Give each broker a name of its own in broker.store.name; or, if the data directory is a copy of that of the other one, remove owner.id from it. If the other one was killed, it counts as alive for another ${Math.ceil(aliveMs / 1000)} seconds; start this one again then.`,
  );
}
