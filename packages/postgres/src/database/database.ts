import { StoreError } from '@signalbox/store/rules';
import { schemaNames } from '../settings/names.ts';
import { serverAddresses } from '../settings/server-addresses.ts';
import { Attempt, type FirstStatement, type Transaction, Undo } from './attempt.ts';
import { newClient } from './client.ts';
import { type Connection, ConnectionLost } from './connection.ts';
import { Lane } from './lane.ts';
import { mayLackCommits, type ServerFacts, safeTimeline } from './server-facts.ts';
import { type Statement, statementOf, type Value } from './statement.ts';
import {
  incarnationOver,
  isConflict,
  placeOf,
  refusalOf,
  type Target,
  toStoreError,
} from './store-errors.ts';

/** The number of times that a transaction or a read is run again after the server gave it up in favour of another one. */
const maxConflicts = 10;
const defaultPatienceMs = 10_000;
/** The default time for an answer, in milliseconds. It is longer than the time for which the server lets an idle process keep a lock. */
const defaultAnswerMs = 15_000;

export interface PostgresDatabaseOptions {
  /**
   * The address, `postgres://user:password@host:port/database`, with the parameters of PostgreSQL's own programs, such as `sslmode`, or
   * `host` for the folder of a socket. It may name several hosts, separated by commas: the first one that accepts changes is used.
   */
  url: string;
  /**
   * The address of the server itself, if `url` leads to a pooler. A connection to it waits for messages of other brokers. Without it, this
   * broker looks for them every 250 ms.
   */
  direct?: string | undefined;
  /** The schema that holds everything. It is made if it is missing. */
  schema: string;
  /** The name of the broker among those that share the schema. While a broker with this name lives, another one is refused. */
  broker: string;
  /**
   * Names something that only this broker uses while it runs, such as its data directory. A broker takes over at once from one of the same
   * owner, since that one must have ended. Without an owner it waits for every other broker.
   */
  owner?: string | undefined;
  /** The time for which callers wait for a server that can't be reached, in milliseconds; 10 seconds by default. */
  patienceMs?: number | undefined;
  /** The time in which the server must answer a statement, in milliseconds; 15 seconds by default. Long reads have no limit. */
  answerMs?: number | undefined;
  /** The time for which a silent broker counts as alive, in milliseconds; 10 seconds by default. */
  leaseMs?: number | undefined;
  /** Names what the database has confirmed. Without it, a restored database is not recognised at the next start. */
  mark?: MarkOptions | undefined;
  /** Returns epoch milliseconds; by default those of the database's clock, on which all brokers agree. */
  now?: (() => number) | undefined;
  /** Returns monotonic milliseconds. */
  monotonic?: (() => number) | undefined;
}

/** The file that tells a database which was restored to an earlier moment from the one that confirmed more. */
export interface MarkOptions {
  /** A file outside of the database, which nobody else uses. */
  file: string;
  /**
   * The schema of the brokers, which is declared restored together with that of the incarnation. Default: the schema of the incarnation.
   */
  stores?: string;
  /** Called at the start with the reason, in words, if the database lacks what the file names. */
  onRestored: (reason: string) => void;
}

/** The mark that each transaction writes first. It shows whether the transaction was committed if its connection is lost. */
export interface Mark {
  readonly statement: FirstStatement;
  /** Tells whether the transaction was committed. Waits until the server knows. */
  isSet(connection: Connection): Promise<boolean>;
  /** Notes that the transaction was committed, and that no crash of the server undoes it. */
  confirmed(): void;
}

/** Tells those who remember rows what they may keep after a transaction. */
export interface TransactionNotes {
  /**
   * True if the transaction changes no rows that somebody remembers, or if they note its changes. After every other one they must read the
   * rows again: see {@link PostgresDatabase.unnoted}.
   */
  isNoted: true;
  /** Called when it was committed, before the next transaction begins. */
  onCommitted?: () => void;
}

/** Those of a transaction that changes no rows which somebody remembers. */
export const otherRows: TransactionNotes = { isNoted: true };

/** Owns transactions, which change nothing any more once it has ended. */
export interface Incarnation {
  /** A number that distinguishes it from every other incarnation of every broker. */
  readonly epoch: number;
  /** True if it has been silent for so long that others may have ended it. */
  readonly isSilent: boolean;
  /** True if the server has not answered for so long that the incarnation may soon be over. */
  readonly hasGap: boolean;
  /** Returns the time by the clock of the database, in epoch milliseconds. */
  now(): number;
  /** Returns the mark of the next transaction. */
  nextMark(): Mark;
  /** Resolves when the file that names the last confirmed commit is on the disk. */
  syncMark(): Promise<void>;
  end(): Promise<void>;
}

/**
 * A schema of a database that a broker uses: one connection for transactions, which run one after the other, one for reads, and one for
 * long reads. A lost connection is opened again. Rejects with a `StoreError`.
 */
export class PostgresDatabase implements AsyncDisposable {
  /** The addresses of the servers; the first one that accepts changes is used. */
  readonly servers: readonly string[];
  /** The schema, which needs no quotes in SQL. */
  readonly schema: string;
  /** The name of the broker that uses it. */
  readonly broker: string;
  /** Names the database in errors. */
  readonly place: string;
  readonly #direct: readonly string[] | undefined;
  readonly #transactions: Lane;
  readonly #reads: Lane;
  readonly #longReads: Lane;
  #incarnation: Incarnation | undefined;
  #facts: ServerFacts | undefined;
  #statements = 0;
  #unnoted = 0;
  /** The connection of the last transaction. */
  #used: Connection | undefined;
  /** The last transaction that was begun. */
  #last: Promise<unknown> = Promise.resolve();
  /** The error of a database that another broker has taken over. */
  #final: StoreError | undefined;

  constructor(options: PostgresDatabaseOptions) {
    const { url, direct, schema, patienceMs = defaultPatienceMs, answerMs = defaultAnswerMs } = options;
    const { monotonic = () => performance.now() } = options;
    this.servers = serversOf(url, 'postgres');
    this.#direct = direct === undefined ? undefined : serversOf(direct, 'direct');
    if (!schemaNames.pattern.test(schema))
      throw new StoreError('store_refused', `broker.store.schema ${schemaNames.problem}. It is '${schema}'.`);
    this.schema = schema;
    this.broker = options.broker;
    this.place = `${placeOf(this.servers.map(targetOf))}, schema '${schema}'`;
    const onOpened = (connection: Connection): void => this.#accept(connection.facts);
    const deps = { servers: this.servers, patienceMs, monotonic, onOpened };
    const quick = { ...deps, config: { query_timeout: answerMs }, usesIndexes: true };
    this.#transactions = new Lane(quick);
    this.#reads = new Lane(quick);
    this.#longReads = new Lane({ ...deps, config: {}, usesIndexes: false });
  }

  /** Makes transactions belong to an incarnation, which the database ends when it is closed. */
  use(incarnation: Incarnation): void {
    this.#incarnation = incarnation;
  }

  /** The epoch of the incarnation. */
  get epoch(): number {
    if (!this.#incarnation) throw new Error('the broker has no incarnation');
    return this.#incarnation.epoch;
  }

  /** The addresses of the servers that a connection can listen on. There are none behind a pooler. */
  get listenServers(): readonly string[] {
    return this.#direct ?? (this.facts.isPooled ? [] : this.servers);
  }

  /** True if the server was silent for so long that other brokers may have ended the incarnation. */
  get isCutOff(): boolean {
    return this.#incarnation?.isSilent ?? false;
  }

  /** True if the server has not answered for a part of the time after which other brokers end the incarnation. */
  get hasGap(): boolean {
    return this.#incarnation?.hasGap ?? false;
  }

  /** Returns the time by the clock of the database, in epoch milliseconds. */
  readonly now = (): number => {
    if (!this.#incarnation) throw new Error('the broker has no incarnation');
    return this.#incarnation.now();
  };

  /** Throws if the incarnation is known to have ended. */
  check(): void {
    if (this.#final) throw this.#final;
  }

  /** The facts about the server that the last connection read. There are none before the first connection. */
  get facts(): ServerFacts {
    if (!this.#facts) throw new Error('the database is not connected');
    return this.#facts;
  }

  /**
   * The number of events after which rows may differ from what is remembered of them: transactions that nobody notes, and new connections,
   * since a crash of the server may undo a transaction that was not synced.
   */
  get unnoted(): number {
    return this.#unnoted;
  }

  /** Replaces facts about the server. */
  note(facts: Pick<ServerFacts, 'receiptMeans'>): void {
    this.#facts = { ...this.facts, ...facts };
  }

  /** Makes a statement that connections keep prepared. In its text `@` before a name stands for the schema. */
  statement(text: string): Statement {
    this.#statements++;
    return statementOf(`s${this.#statements}`, this.inSchema(text));
  }

  /** Makes a statement that is seldom run. */
  unnamed(text: string): Statement {
    return statementOf('', this.inSchema(text));
  }

  /** Replaces `@` before a name in SQL by the schema. */
  inSchema(text: string): string {
    return text.replaceAll(/@(?=\w)/g, `${this.schema}.`);
  }

  /** Reads rows outside of a transaction. */
  async read<Row extends object>(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    return this.#readOn<Row>(this.#reads, statement, values);
  }

  /** Reads rows outside of a transaction, without a time limit. */
  async readLong<Row extends object>(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    return this.#readOn<Row>(this.#longReads, statement, values);
  }

  /**
   * Runs changes in one transaction, after the earlier ones. They are durable when this resolves, unless `change` makes them quick. If it rejects, nothing is changed, with
   * one exception: if it rejects with `store_unavailable` after the connection was lost during the commit, either all or nothing is
   * changed. Changes of a broker whose incarnation has ended are refused. `change` may run several times.
   */
  transaction<T>(change: (transaction: Transaction) => Promise<T>, notes?: TransactionNotes): Promise<T> {
    return this.#inTurn(async () => {
      this.check();
      const incarnation = this.#incarnation;
      if (!incarnation) throw new Error('the broker has no incarnation');
      if (!notes) this.#unnoted++;
      const mark = incarnation.nextMark();
      let last: Attempt<T> | undefined;
      try {
        const value = await this.#run(
          (connection) => {
            last = new Attempt<T>(connection, mark.statement);
            return last;
          },
          change,
          (connection) => mark.isSet(connection),
        );
        // A database that lacks a confirmed transaction counts as restored.
        if (!last?.isQuick) mark.confirmed();
        notes?.onCommitted?.();
        return value;
      } catch (thrown) {
        if (thrown instanceof StoreError && thrown.isFinal) this.#final = thrown;
        throw thrown;
      }
    });
  }

  /**
   * Resolves when the machine of this process remembers, through a power cut, all transactions that were confirmed before the call.
   * Rejects with the error of the file system.
   */
  async syncMark(): Promise<void> {
    await this.#incarnation?.syncMark();
  }

  /** Runs changes for which no incarnation is needed, and which may be made twice. */
  prepare<T>(change: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#inTurn(() =>
      this.#run(
        (connection) => new Attempt<T>(connection),
        change,
        async () => false,
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transactions.hurry();
    await this.#incarnation?.end().catch(() => {});
    await this.#last;
    await Promise.all([this.#transactions, this.#reads, this.#longReads].map((lane) => lane.close()));
  }

  /** Reads rows. Behind a pooler the server may give up the statement in favour of another one: then it is run again. */
  #readOn<Row extends object>(lane: Lane, statement: Statement, values: readonly Value[]): Promise<Row[]> {
    return this.#attempt(async () => {
      for (let conflicts = 0; ; conflicts++) {
        try {
          return await lane.read((connection) => connection.query<Row>(statement, values));
        } catch (thrown) {
          if (!isConflict(thrown) || conflicts === maxConflicts) throw thrown;
        }
      }
    });
  }

  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const run = this.#last.then(() => this.#attempt(action));
    this.#last = run.catch(() => {});
    return run;
  }

  /** Attempts a transaction. `isCommitted` finds out whether one whose connection was lost during its commit was committed. */
  async #run<T>(
    attemptOn: (connection: Connection) => Attempt<T>,
    change: (transaction: Transaction) => Promise<T>,
    isCommitted: (connection: Connection) => Promise<boolean>,
  ): Promise<T> {
    const lane = this.#transactions;
    /** The value that the change returned in an attempt of which it is unknown whether it was committed. */
    let inDoubt: { value: T } | undefined;
    for (let conflicts = 0; ; ) {
      const connection = await lane.connection();
      if (connection !== this.#used) this.#unnoted++;
      this.#used = connection;
      try {
        if (inDoubt && (await isCommitted(connection))) return inDoubt.value;
        inDoubt = undefined;
        const attempt = attemptOn(connection);
        try {
          return await attempt.run(change);
        } finally {
          inDoubt = attempt.result;
        }
      } catch (thrown) {
        if (isConflict(thrown) && conflicts++ < maxConflicts) continue;
        if (!(thrown instanceof ConnectionLost) || !lane.isPatient) throw thrown;
      }
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
    const refusal = refusalOf(facts, this.place);
    // After a failover, the address may soon lead to the primary.
    if (refusal?.code === 'store_unwritable' && this.#facts) throw new ConnectionLost(refusal.message);
    if (refusal) throw refusal;
    if (this.#incarnation && this.#facts && mayLackCommits(facts, safeTimeline(this.#facts))) {
      this.#final ??= incarnationOver(this.place);
      throw this.#final;
    }
    this.#facts = facts;
  }
}

/** Reads an address of the configuration. */
function serversOf(url: string, key: string): readonly string[] {
  const read = serverAddresses(url);
  if ('servers' in read) return read.servers;
  throw new StoreError('store_refused', `broker.store.${key} is no address of a database: ${read.problem}.`);
}

/** Reads the address of a server. The client that parses it opens no connection. */
function targetOf(server: string): Target {
  try {
    return newClient(server);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StoreError('store_refused', `broker.store.postgres is no address of a database: ${why}.`);
  }
}
