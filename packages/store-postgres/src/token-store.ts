import type { HoldRecord, TokenRecord, TokenStore } from '@signalbox/store';
import type { Statement } from './database/connection.ts';
import type { PostgresDatabase } from './database/database.ts';

const maxAgents = 100_000;

/** Opens the tokens, the holds and the known agents of a database, which outlives the store. */
export function openPostgresTokenStore(database: PostgresDatabase): TokenStore {
  return new PostgresTokenStore(database);
}

/** Rows with a record as JSON, in the order of their creation. */
class Records<T extends { id: string; createdAt: number }> {
  readonly #database: PostgresDatabase;
  readonly #all: Statement;
  readonly #remove: Statement;

  constructor(database: PostgresDatabase, table: 'token' | 'hold') {
    this.#database = database;
    this.#all = database.statement(`SELECT record FROM @${table} ORDER BY created_at, id`);
    this.#remove = database.statement(`DELETE FROM @${table} WHERE id = $1 RETURNING id`);
  }

  async all(): Promise<T[]> {
    const rows = await this.#database.read<{ record: string }>(this.#all);
    return rows.map(({ record }) => JSON.parse(record) as T);
  }

  async remove(id: string): Promise<boolean> {
    const removed = await this.#database.transaction((transaction) => transaction.query(this.#remove, [id]));
    return removed.length > 0;
  }
}

class PostgresTokenStore implements TokenStore {
  readonly #database: PostgresDatabase;
  readonly #tokens: Records<TokenRecord>;
  readonly #holds: Records<HoldRecord>;
  readonly #addToken: Statement;
  readonly #addHold: Statement;
  readonly #agents: Statement;
  readonly #addAgents: Statement;
  readonly #dropAgents: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#tokens = new Records(database, 'token');
    this.#holds = new Records(database, 'hold');
    this.#addToken = database.statement('INSERT INTO @token VALUES ($1, $2, $3, $4)');
    this.#addHold = database.statement('INSERT INTO @hold VALUES ($1, $2, $3)');
    this.#agents = database.statement('SELECT name FROM @known_agent ORDER BY number');
    this.#addAgents = database.statement(
      `INSERT INTO @known_agent (name) SELECT name FROM unnest($1::text[]) WITH ORDINALITY AS k(name, place)
       WHERE NOT EXISTS (SELECT FROM @known_agent a WHERE a.name = k.name) ORDER BY place ON CONFLICT DO NOTHING`,
    );
    this.#dropAgents = database.statement(
      `DELETE FROM @known_agent WHERE number <= (SELECT number FROM @known_agent ORDER BY number DESC OFFSET ${maxAgents} LIMIT 1)`,
    );
  }

  all(): Promise<TokenRecord[]> {
    return this.#tokens.all();
  }

  async add(record: TokenRecord): Promise<void> {
    const { id, hash, createdAt } = record;
    await this.#write(this.#addToken, [id, hash, createdAt, JSON.stringify(record)]);
  }

  remove(id: string): Promise<boolean> {
    return this.#tokens.remove(id);
  }

  holds(): Promise<HoldRecord[]> {
    return this.#holds.all();
  }

  async addHold(record: HoldRecord): Promise<void> {
    await this.#write(this.#addHold, [record.id, record.createdAt, JSON.stringify(record)]);
  }

  removeHold(id: string): Promise<boolean> {
    return this.#holds.remove(id);
  }

  async agents(): Promise<string[]> {
    const rows = await this.#database.read<{ name: string }>(this.#agents);
    return rows.map(({ name }) => name);
  }

  async addAgents(agents: readonly string[]): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await transaction.query(this.#addAgents, [agents]);
      transaction.write(this.#dropAgents);
    });
  }

  /** The database is the caller's. */
  async [Symbol.asyncDispose](): Promise<void> {}

  async #write(statement: Statement, values: (string | number)[]): Promise<void> {
    await this.#database.transaction((transaction) => transaction.query(statement, values));
  }
}
