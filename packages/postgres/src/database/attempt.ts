import { type Connection, ConnectionLost } from './connection.ts';
import { type Statement, statementOf, type Value } from './statement.ts';

/** Thrown by a change to undo its transaction. The transaction rejects with it. */
export class Undo extends Error {
  override readonly name: string = 'Undo';
}

/** The first statement of a transaction, with a check of its rows that throws if the transaction may not continue. */
export interface FirstStatement {
  readonly statement: Statement;
  readonly values: readonly Value[];
  check(rows: readonly object[]): void;
}

/**
 * The statements of one transaction. They are sent at once, and the server runs them in their order. Each sees the commits of others before
 * its own beginning.
 */
export interface Transaction {
  query<Row extends object>(statement: Statement, values?: readonly Value[]): Promise<Row[]>;
  /** Sends a statement whose rows don't matter. If it fails, the transaction fails. */
  write(statement: Statement, values?: readonly Value[]): void;
  /**
   * Sends a statement that fails if the transaction may not continue. Then the commit need not wait for the answer to the first statement:
   * if the change waits for no answer either, the whole transaction is one round trip.
   */
  guard(statement: Statement, values: readonly Value[]): void;
  /** Makes the commit quick. A crash of the server may undo the transaction until a later one is committed that is not quick. */
  beQuick(): void;
  /** The same as {@link write} for several statements without values. */
  script(text: string): void;
}

const commit = statementOf('COMMIT', 'COMMIT');
const noSync = statementOf('', 'SET LOCAL synchronous_commit = off');

/** One attempt at a transaction. */
export class Attempt<T> {
  readonly #connection: Connection;
  readonly #first: FirstStatement | undefined;
  readonly #sent: Promise<unknown>[] = [];
  /** The value that the change returned, from the moment when the commit was sent until the commit is known to have failed. */
  result: { value: T } | undefined;
  /** True if a crash of the server may undo the transaction although it was committed. */
  isQuick = false;

  constructor(connection: Connection, first?: FirstStatement) {
    this.#connection = connection;
    this.#first = first;
  }

  async run(change: (transaction: Transaction) => Promise<T>): Promise<T> {
    const connection = this.#connection;
    const first = this.#first;
    let isGuarded = false;
    this.#send(Promise.all(connection.beginning.map((statement) => connection.send(statement))));
    if (first)
      this.#send(
        connection.send(first.statement, first.values).then(({ rows }) => {
          first.check(rows);
        }),
      );
    try {
      const value = await change({
        query: async (statement, values) => {
          const answer = connection.send(statement, values);
          answer.catch(() => {});
          // An earlier statement failed first.
          await Promise.all(this.#sent);
          return (await answer).rows as never;
        },
        write: (statement, values) => this.#send(connection.send(statement, values)),
        guard: (statement, values) => {
          isGuarded = true;
          this.#send(connection.send(statement, values));
        },
        beQuick: () => {
          this.isQuick = true;
          this.#send(connection.send(noSync));
        },
        script: (text) => this.#send(connection.run(text)),
      });
      // Nothing is committed before it is known that the transaction may continue.
      if (!isGuarded) await Promise.all(this.#sent.slice(0, first ? 2 : 1));
      this.result = { value };
    } catch (thrown) {
      await Promise.allSettled(this.#sent);
      if (!connection.isLost) await connection.run('ROLLBACK');
      throw thrown;
    }
    const ended = connection.send(commit);
    this.#send(ended);
    const failed = (await Promise.allSettled(this.#sent)).find((one) => one.status === 'rejected');
    if (!failed) {
      const { command } = await ended;
      if (command !== 'COMMIT') throw new Error(`the server answered a commit with ${command}`);
      return this.result.value;
    }
    // The commit was skipped, like everything after the statement that failed.
    if (!connection.isLost) await connection.run('ROLLBACK');
    // Only after a lost connection it is unknown whether the commit took place.
    if (!(failed.reason instanceof ConnectionLost)) this.result = undefined;
    throw failed.reason;
  }

  #send(sent: Promise<unknown>): void {
    sent.catch(() => {});
    this.#sent.push(sent);
  }
}
