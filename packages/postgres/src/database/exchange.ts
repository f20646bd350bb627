import pg from 'pg';
import type { Statement, Value } from './statement.ts';
import { WireWriter } from './wire-writer.ts';

/** The answer of the server to a statement. */
export interface Answer<Row extends object = Record<string, unknown>> {
  /** The name of the command, such as `COMMIT`. Some have the number of rows after it. */
  command: string;
  rows: Row[];
}

/** A column of the rows of a statement. */
interface Column {
  name: string;
  parse: (text: string) => unknown;
}

/** The columns of the rows of each statement that the server has prepared, by the name of the statement. */
export type PreparedStatements = Map<string, readonly Column[]>;

interface Asked {
  statement: Statement;
  values: readonly Value[];
  answered: PromiseWithResolvers<Answer>;
}

/** The messages of the server, in the form in which the client parses them. */
type Fields = { fields: readonly { name: string; dataTypeID: number }[] };

const firstGuessBytes = 4096;
const no: readonly Column[] = [];

/**
 * Statements that are sent together, and answered together. The server runs them in their order, and skips those after one that fails. They
 * take the place of one query in the client. One message for each of them and one read for all costs less than a query for each.
 */
export class Exchange extends pg.Query {
  /** The client sets it if answers have a time limit. */
  callback: (error: Error | null) => void = () => {};
  readonly #prepared: PreparedStatements;
  readonly #asked: Asked[] = [];
  /** The number of statements that are answered. */
  #done = 0;
  #columns: readonly Column[] | undefined;
  #rows: Record<string, unknown>[] = [];

  constructor(prepared: PreparedStatements) {
    super({ text: '' });
    this.#prepared = prepared;
  }

  /** Adds a statement, before it is submitted. */
  add(statement: Statement, values: readonly Value[]): Promise<Answer> {
    const answered = Promise.withResolvers<Answer>();
    this.#asked.push({ statement, values, answered });
    return answered.promise;
  }

  override submit = ({ stream }: Pick<pg.Connection, 'stream'>): Error | null => {
    const writer = new WireWriter(firstGuessBytes);
    const preparing = new Set<string>();
    try {
      for (const { statement, values } of this.#asked) {
        const { name, text, arrays } = statement;
        const isPrepared = this.#prepared.has(name);
        if (!isPrepared && !preparing.has(name)) writer.prepare(name, text);
        if (name !== '') preparing.add(name);
        writer.bind(name, values, arrays);
        if (!isPrepared) writer.describe();
        writer.execute();
      }
    } catch (error) {
      return error as Error;
    }
    writer.sync();
    stream.write(writer.written());
    return null;
  };

  handleRowDescription({ fields }: Fields): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const columns = this.#columns ?? this.#prepared.get(this.#asked[this.#done]!.statement.name) ?? no;
    const row: Record<string, unknown> = {};
    for (let at = 0; at < columns.length; at++) {
      const { name, parse } = columns[at]!;
      const field = fields[at]!;
      row[name] = field === null ? null : parse(field);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { statement, answered } = this.#asked[this.#done++]!;
    if (statement.name !== '' && !this.#prepared.has(statement.name))
      this.#prepared.set(statement.name, this.#columns ?? no);
    answered.resolve({ command: text, rows: this.#rows });
    this.#columns = undefined;
    this.#rows = [];
  }

  handleError(error: Error): void {
    for (const { answered } of this.#asked.slice(this.#done)) answered.reject(error);
    this.#done = this.#asked.length;
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }
}

/** The type of an array of numbers of 64 bits. */
const int8Array = 1016;

/**
 * Returns the parser of a type. PostgreSQL returns numbers of 64 bits as text, since they may be larger than JavaScript can represent. Ours
 * never are.
 */
function parserOf(type: number): (text: string) => unknown {
  if (type === pg.types.builtins.INT8) return Number;
  const parse = pg.types.getTypeParser(type, 'text');
  return type === int8Array ? (text) => (parse(text) as unknown as string[]).map(Number) : parse;
}
