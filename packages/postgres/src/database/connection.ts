import type { Socket } from 'node:net';
import { StoreError } from '@signalbox/store/rules';
import pg from 'pg';
import { connectClient } from './client.ts';
import { type Answer, Exchange, type PreparedStatements } from './exchange.ts';
import { type ServerFacts, serverFacts } from './server-facts.ts';
import { type Statement, statementOf, type Value } from './statement.ts';

/** Thrown if the connection ended before the answer came. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/**
 * The settings of a connection. A process that stopped in the middle of a transaction must not keep its locks. A prepared plan that was
 * made while a table was empty would read the whole table until the table is analyzed, so the planner is told to use indexes, and to make
 * no new plan for each array. Up to PostgreSQL 17, a plan that reads a small table whole then counts as very expensive, and would be
 * compiled each time.
 */
const settings = {
  idle_in_transaction_session_timeout: '5000',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/**
 * One connection. Statements are sent at once, without waiting for the answers to earlier ones. It keeps no state on the server except
 * prepared statements; behind a pooler it keeps not even those, because the next transaction may run on another server process.
 */
export class Connection {
  readonly facts: ServerFacts;
  /** The time at which it was opened, in monotonic milliseconds. */
  readonly openedAt: number;
  readonly #client: pg.Client;
  readonly #prepared: PreparedStatements = new Map();
  #isLost = false;
  #isCorked = false;
  /** The statements that leave together when the turn ends. */
  #gathered: Exchange | undefined;

  private constructor(client: pg.Client, facts: ServerFacts, openedAt: number) {
    this.#client = client;
    this.facts = facts;
    this.openedAt = openedAt;
  }

  /**
   * Opens a connection for statements that find their rows by indexes, or for others. Rejects with `ConnectionLost`, with the
   * `DatabaseError` of a server that refuses it, or with a `StoreError` if the address can't be used.
   */
  static async open(
    server: string,
    config: pg.ClientConfig,
    { usesIndexes, openedAt }: { usesIndexes: boolean; openedAt: number },
  ): Promise<Connection> {
    let client: pg.Client | undefined;
    try {
      client = await connectClient(server, { ...config, pipeline: true });
      const connection = new Connection(client, await serverFacts(client), openedAt);
      // Behind a pooler, statements are planned each time, and transactions set their settings.
      if (!connection.facts.isPooled)
        await client.query([setIsolation, ...(usesIndexes ? settingsOf('SET') : [])].join('; '));
      for (const event of ['error', 'end'] as const) client.on(event, () => connection.#lose());
      return connection;
    } catch (thrown) {
      void client?.end().catch(() => {});
      throw toConnectionError(thrown);
    }
  }

  /** The statements with which a transaction begins. Without a pooler the connection has its settings already. */
  get beginning(): readonly Statement[] {
    return this.facts.isPooled ? pooledBeginning : [begin];
  }

  /** True once the connection has ended. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Runs a statement and returns its rows. Rejects with `ConnectionLost`, or with a `DatabaseError`. */
  async query<Row extends object>(statement: Statement, values: readonly Value[] = []): Promise<Row[]> {
    const exchange = new Exchange(this.#prepared);
    const { rows } = await this.#answerOf<Row>(() => {
      const answer = exchange.add(this.#named(statement), values);
      this.#submit(exchange);
      return answer;
    });
    return rows;
  }

  /**
   * Runs a statement of a transaction. The statements of one turn are sent and answered together; after one that fails, none is run.
   * Rejects as {@link query} does.
   */
  send<Row extends object>(statement: Statement, values: readonly Value[] = []): Promise<Answer<Row>> {
    return this.#answerOf<Row>(() => {
      if (!this.#gathered) {
        this.#gathered = new Exchange(this.#prepared);
        process.nextTick(() => this.#sendGathered());
      }
      return this.#gathered.add(this.#named(statement), values);
    });
  }

  /** Runs SQL of one or several statements without values. */
  async run(text: string): Promise<void> {
    this.#sendGathered();
    await this.#answerOf(() => this.#client.query(text));
  }

  async close(): Promise<void> {
    this.#isLost = true;
    await this.#client.end().catch(() => {});
  }

  /** Returns a statement without its name behind a pooler, where it is planned each time. */
  #named(statement: Statement): Statement {
    return this.facts.isPooled ? { ...statement, name: '' } : statement;
  }

  #sendGathered(): void {
    const gathered = this.#gathered;
    this.#gathered = undefined;
    if (gathered) this.#submit(gathered);
  }

  #submit(exchange: Exchange): void {
    this.#cork();
    this.#client.query(exchange);
  }

  async #answerOf<Row extends object>(ask: () => Promise<unknown>): Promise<Answer<Row>> {
    try {
      return (await ask()) as Answer<Row>;
    } catch (thrown) {
      const error = toConnectionError(thrown);
      if (error instanceof ConnectionLost) this.#lose();
      throw error;
    }
  }

  /** Makes statements that are sent in one turn leave together. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    const { stream } = (this.#client as pg.Client & { connection: { stream: Socket } }).connection;
    stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      stream.uncork();
    });
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    void this.#client.end().catch(() => {});
  }
}

function settingsOf(command: 'SET' | 'SET LOCAL'): string[] {
  return Object.entries(settings).map(([name, value]) => `${command} ${name} = ${value}`);
}

// A statement after a lock must see what was committed before the lock was granted, whatever level the server has by default.
const begin = statementOf('BEGIN', 'BEGIN ISOLATION LEVEL READ COMMITTED');
/** SQL that sets the level of statements outside of transactions. */
const setIsolation = `SET default_transaction_isolation = 'read committed'`;
const pooledBeginning = [begin, ...settingsOf('SET LOCAL').map((text) => statementOf('', text))];

/** The classes and codes of errors after which the connection or the server is gone, or not ready yet. */
const lostCodes = /^(08...|57P0[1235]|25P0[34]|53300)$/;

/**
 * Returns the error to throw. An error that is neither an answer of the server, nor a value that can't be sent, nor an address that can't
 * be used means that the connection does not work.
 */
export function toConnectionError(thrown: unknown): unknown {
  if (thrown instanceof TypeError || thrown instanceof StoreError) return thrown;
  if (thrown instanceof pg.DatabaseError && !lostCodes.test(thrown.code ?? '')) return thrown;
  return new ConnectionLost(thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}
