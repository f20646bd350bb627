import { setTimeout as wait } from 'node:timers/promises';
import { StoreError } from '@signalbox/store/rules';
import pg from 'pg';
import { type Connection, ConnectionLost, type Statement, type Value } from './connection.ts';
import { Lane } from './lane.ts';
import type { ServerFacts } from './server-facts.ts';
import { isConflict, placeOf, toStoreError } from './store-errors.ts';

const oldestVersion = 14;
/** How often a transaction is run again that the server gave up for the sake of another one. */
const maxConflicts = 10;
/** How often the server is asked what became of a transaction whose connection was lost. */
const outcomePauseMs = 50;
const schemaPattern = /^[a-z][a-z0-9_]{0,47}$/;
const defaultPatienceMs = 10_000;

/**
 * A process that stopped in the middle of a transaction must not keep the locks of it. Tables that were empty when they were last looked at
 * would be read whole until somebody looks again, so that the planner is told to use their indexes.
 */
const begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = 5000; SET LOCAL enable_seqscan = off;
  SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SELECT pg_current_xact_id()::text AS xid`;

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of `pg`, as `sslmode` and `host` for a socket. */
  url: string;
  /** The schema in which everything is kept. */
  schema: string;
  /** The time for which callers wait for a server that can't be reached, in milliseconds; 10 seconds by default. */
  patienceMs?: number | undefined;
  /** Returns monotonic milliseconds. */
  monotonic?: (() => number) | undefined;
}

/** Thrown by a change to undo its transaction. The caller of the transaction gets it as it is. */
export class Undo extends Error {
  override readonly name: string = 'Undo';
}

/**
 * The statements of one transaction. They are sent at once, and the server runs them in their order; each sees what others have committed
 * before it began.
 */
export interface Transaction {
  query<Row extends object>(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
  /** Sends a statement whose rows don't matter. If it fails, the transaction does. */
  write(statement: Statement, values?: readonly Value[]): void;
  /** The same for several statements without values. */
  script(text: string): void;
}

/**
 * A schema of a database: one connection for transactions, which run one after the other, one for reads, and one for reads that take long.
 * A connection that is lost is opened again. Rejects with a `StoreError`.
 */
export class Database implements AsyncDisposable {
  /** The schema, which needs no quotes in SQL. */
  readonly schema: string;
  /** Names the database in errors. */
  readonly place: string;
  readonly #transactions: Lane;
  readonly #reads: Lane;
  readonly #longReads: Lane;
  #facts: ServerFacts | undefined;
  #statements = 0;
  /** The last transaction that was begun. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({
    url,
    schema,
    patienceMs = defaultPatienceMs,
    monotonic = () => performance.now(),
  }: DatabaseOptions) {
    const place = placeOf(targetOf(url));
    if (!schemaPattern.test(schema))
      throw new StoreError(
        'store_refused',
        `broker.store.schema '${schema}' can't be used. Write lower-case letters, digits and _, at most 48, with a letter first.`,
      );
    this.schema = schema;
    this.place = place;
    const onOpened = (connection: Connection): void => this.#accept(connection.facts);
    const deps = { config: { connectionString: url }, patienceMs, monotonic, onOpened };
    this.#transactions = new Lane(deps);
    this.#reads = new Lane(deps);
    this.#longReads = new Lane(deps);
  }

  /** What the server said last of itself. There is none before the first connection. */
  get facts(): ServerFacts {
    if (!this.#facts) throw new Error('the database is not connected');
    return this.#facts;
  }

  /** Notes that the server says something else of itself now. */
  note(facts: Pick<ServerFacts, 'receiptMeans'>): void {
    this.#facts = { ...this.facts, ...facts };
  }

  /** Makes a statement that connections keep prepared. In its text `@` stands for the schema. */
  statement(text: string): Statement {
    this.#statements++;
    return { name: `s${this.#statements}`, text: this.inSchema(text) };
  }

  /** Returns SQL with the schema where `@` stands for it. */
  inSchema(text: string): string {
    return text.replaceAll('@', `${this.schema}.`);
  }

  /** Reads rows outside of a transaction. */
  async read<Row extends object>(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    return this.#attempt(() => this.#reads.read((connection) => connection.query<Row>(statement, values)));
  }

  /** The same for what may take a while. */
  async readLong<Row extends object>(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    return this.#attempt(() =>
      this.#longReads.read((connection) => connection.query<Row>(statement, values)),
    );
  }

  /**
   * Runs changes in one transaction, after those that were begun before. They are durable when this resolves. If it rejects, nothing is
   * changed, but for one case: with `store_unavailable`, after the connection was lost during the commit, it may be that all is.
   * `change` may run several times.
   */
  async transaction<T>(change: (transaction: Transaction) => Promise<T>): Promise<T> {
    const run = this.#last.then(() => this.#attempt(() => this.#run(change)));
    this.#last = run.catch(() => {});
    return run;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await Promise.all([this.#transactions, this.#reads, this.#longReads].map((lane) => lane.close()));
  }

  async #run<T>(change: (transaction: Transaction) => Promise<T>): Promise<T> {
    const lane = this.#transactions;
    for (let conflicts = 0; ; ) {
      const connection = await lane.connection();
      const attempt = new Attempt<T>(connection);
      try {
        return await attempt.run(change);
      } catch (thrown) {
        if (isConflict(thrown) && conflicts++ < maxConflicts) continue;
        if (!(thrown instanceof ConnectionLost)) throw thrown;
        if (attempt.result !== undefined && (await this.#isCommitted(attempt.xid, thrown)))
          return attempt.result.value;
        if (!lane.isPatient) throw thrown;
      }
    }
  }

  /** Finds out what became of a transaction whose connection was lost while it was committed. */
  async #isCommitted(xid: string, lost: ConnectionLost): Promise<boolean> {
    const lane = this.#transactions;
    for (;;) {
      const connection = await lane.connection();
      try {
        const { rows } = await connection.run(`SELECT pg_xact_status('${xid}') AS status`);
        const { status } = rows[0] as { status: string | null };
        if (status === 'committed' || status === 'aborted') return status === 'committed';
        // A server that has forgotten it, or has another past, can't tell.
        if (status === null) throw lost;
      } catch (thrown) {
        if (!(thrown instanceof ConnectionLost) || !lane.isPatient) throw thrown;
      }
      // It runs still: its server process has not noticed that nobody is there.
      await wait(outcomePauseMs);
    }
  }

  async #attempt<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (thrown) {
      if (thrown instanceof Undo) throw thrown;
      throw toStoreError(thrown, this.place);
    }
  }

  #accept(facts: ServerFacts): void {
    const major = Math.floor(facts.version / 10_000);
    if (major < oldestVersion)
      throw new StoreError(
        'store_refused',
        `${this.place}: it is version ${major}, and Signalbox needs PostgreSQL ${oldestVersion} or newer. Use a newer server.`,
      );
    if (facts.isStandby) {
      const what = `${this.place} is a standby, which takes no changes. Name the primary in broker.store.postgres.`;
      // After a failover, the address may lead to the primary in a moment.
      throw this.#facts ? new ConnectionLost(what) : new StoreError('store_unwritable', what);
    }
    this.#facts = facts;
  }
}

/** One attempt at a transaction. */
class Attempt<T> {
  readonly #connection: Connection;
  readonly #writes: Promise<unknown>[] = [];
  #xid: string | undefined;
  /** What the change returned. Set when the commit was sent. */
  result: { value: T } | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Names the transaction for the server. */
  get xid(): string {
    return this.#xid ?? '';
  }

  async run(change: (transaction: Transaction) => Promise<T>): Promise<T> {
    const connection = this.#connection;
    const begun = connection.run(begin).then(({ rows }) => {
      this.#xid = (rows[0] as { xid: string }).xid;
    });
    begun.catch(() => {});
    try {
      const value = await change({
        query: async (statement, values) => {
          const [, rows] = await Promise.all([begun, connection.query(statement, values)]);
          return rows as never;
        },
        write: (statement, values) => this.#write(connection.query(statement, values)),
        script: (text) => this.#write(connection.run(text)),
      });
      await begun;
      this.result = { value };
    } catch (thrown) {
      await Promise.allSettled(this.#writes);
      if (!connection.isLost) await connection.run('ROLLBACK');
      throw thrown;
    }
    const ended = connection.run('COMMIT');
    this.#write(ended);
    const lost = (await Promise.allSettled(this.#writes)).find((one) => one.status === 'rejected');
    if (!lost) {
      const { command } = await ended;
      if (command !== 'COMMIT') throw new Error(`the server answered a commit with ${command}`);
      return this.result.value;
    }
    // Only a lost connection leaves it open whether the commit took place.
    if (!(lost.reason instanceof ConnectionLost)) this.result = undefined;
    throw lost.reason;
  }

  #write(sent: Promise<unknown>): void {
    sent.catch(() => {});
    this.#writes.push(sent);
  }
}

/** Reads an address. The client that does it opens no connection. */
function targetOf(url: string): Parameters<typeof placeOf>[0] {
  try {
    return new pg.Client({ connectionString: url });
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StoreError(
      'store_refused',
      `broker.store.postgres is no address of a database (${text}). Write postgres://user:password@host:port/database`,
    );
  }
}
