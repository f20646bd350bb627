import type { Socket } from 'node:net';
import pg from 'pg';
import { type ServerFacts, serverFacts } from './server-facts.ts';

/** SQL with the name under which a connection keeps it prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** What a statement can be given. A `Buffer` goes as it is; an array is one value of an array type. */
export type Value = string | number | boolean | null | Buffer | readonly (string | number | boolean | null)[];

/** The connection ended before the answer came. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

const connectTimeoutMs = 5000;

/**
 * A process that stopped in the middle of a transaction must not keep the locks of it. A prepared plan that was made while a table was empty
 * would read the whole table until somebody has analyzed it, so that the planner is told to use indexes, and to make no new plan for each
 * array. Up to PostgreSQL 17 a plan that reads a small table whole counts as very expensive then, and would be compiled each time.
 */
const settings = {
  idle_in_transaction_session_timeout: '5000',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/** The result of numbers that PostgreSQL gives as text, since they may be larger than JavaScript can hold. Ours never are. */
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * One connection. Statements are sent at once, without waiting for the answers to those before them. It keeps no state on the server but
 * prepared statements, and not even those behind a pooler, where the next transaction may run on another server process.
 */
export class Connection {
  readonly facts: ServerFacts;
  /** The time at which it was opened, in monotonic milliseconds. */
  readonly openedAt: number;
  readonly #client: pg.Client;
  #isLost = false;
  #isGathering = false;

  private constructor(client: pg.Client, facts: ServerFacts, openedAt: number) {
    this.#client = client;
    this.facts = facts;
    this.openedAt = openedAt;
  }

  /**
   * Opens a connection for statements that find their rows by indexes, or for others. Rejects with `ConnectionLost`, or with the
   * `DatabaseError` of a server that refuses it.
   */
  static async open(
    config: pg.ClientConfig,
    { usesIndexes, openedAt }: { usesIndexes: boolean; openedAt: number },
  ): Promise<Connection> {
    const client = new pg.Client({
      keepAlive: true,
      application_name: 'signalbox',
      connectionTimeoutMillis: connectTimeoutMs,
      ...config,
      types,
      pipeline: true,
    });
    // An error that comes before there is a connection must not end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      const connection = new Connection(client, await serverFacts(client), openedAt);
      // Behind a pooler, statements are planned each time, and transactions make their settings.
      if (usesIndexes && !connection.facts.isPooled) await client.query(settingsOf('SET'));
      for (const event of ['error', 'end'] as const) client.on(event, () => connection.#lose());
      return connection;
    } catch (thrown) {
      void client.end().catch(() => {});
      throw toConnectionError(thrown);
    }
  }

  /** SQL for the settings of a transaction, which the connection has already if no pooler is in between. */
  get transactionSettings(): string {
    return this.facts.isPooled ? settingsOf('SET LOCAL') : '';
  }

  /** True once the connection has ended. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Runs a statement and returns its rows. Rejects with `ConnectionLost`, or with a `DatabaseError`. */
  async query<Row extends object>({ name, text }: Statement, values: readonly Value[] = []): Promise<Row[]> {
    const named = this.facts.isPooled ? {} : { name };
    const { rows } = await this.#send(() => this.#client.query<Row>({ ...named, text, values: [...values] }));
    return rows;
  }

  /** Runs SQL of one or several statements without values. Returns the rows and the command of the last one. */
  async run(text: string): Promise<{ command: string; rows: unknown[] }> {
    const result: pg.QueryResult | pg.QueryResult[] = await this.#send(() => this.#client.query(text));
    return Array.isArray(result) ? result.at(-1)! : result;
  }

  async close(): Promise<void> {
    this.#isLost = true;
    await this.#client.end().catch(() => {});
  }

  async #send<T>(query: () => Promise<T>): Promise<T> {
    this.#gather();
    try {
      return await query();
    } catch (thrown) {
      const error = toConnectionError(thrown);
      if (error instanceof ConnectionLost) this.#lose();
      throw error;
    }
  }

  /** What is sent in one turn leaves together. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    const { stream } = (this.#client as pg.Client & { connection: { stream: Socket } }).connection;
    stream.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      stream.uncork();
    });
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    void this.#client.end().catch(() => {});
  }
}

function settingsOf(command: 'SET' | 'SET LOCAL'): string {
  return Object.entries(settings)
    .map(([name, value]) => `${command} ${name} = ${value}`)
    .join('; ');
}

/** The classes and codes of errors behind which the connection, or the server, is gone or not there yet. */
const lostCodes = /^(08...|57P0[1235]|25P0[34]|53300)$/;

/** Every error that is not the answer of the server says that the connection does not work. */
function toConnectionError(thrown: unknown): unknown {
  if (thrown instanceof pg.DatabaseError && !lostCodes.test(thrown.code ?? '')) return thrown;
  return new ConnectionLost(thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}
