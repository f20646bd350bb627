import type { HoldRecord, TokenChanges, TokenRecord, TokenStore } from '@signalbox/store';
import type { PostgresDatabase } from './database/database.ts';
import type { Statement } from './database/statement.ts';

const maxAgents = 100_000;

/** Opens the tokens, the holds and the known agents of a database, which outlives the store. */
export function openPostgresTokenStore(database: PostgresDatabase): TokenStore {
  return new PostgresTokenStore(database);
}

/** The rows of a table that hold a record as JSON, in the order of their creation. */
class Records<T extends { id: string; createdAt: number }> {
  readonly #database: PostgresDatabase;
  readonly #all: Statement;
  readonly #remove: Statement;
  readonly #removed: Statement;

  constructor(database: PostgresDatabase, table: 'token' | 'hold') {
    this.#database = database;
    this.#removed = raiseVersion(database, table === 'token' ? 'removed_at' : 'holds_at');
    this.#all = database.statement(`SELECT record FROM @${table} ORDER BY created_at, id`);
    this.#remove = database.statement(`DELETE FROM @${table} WHERE id = $1 RETURNING id`);
  }

  async all(): Promise<T[]> {
    const rows = await this.#database.read<{ record: string }>(this.#all);
    return rows.map(({ record }) => JSON.parse(record) as T);
  }

  async remove(id: string): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      const removed = await transaction.query(this.#remove, [id]);
      if (removed.length > 0) transaction.write(this.#removed);
      return removed.length > 0;
    });
  }
}

/** Makes the statement that raises the version for a change of one kind. */
function raiseVersion(database: PostgresDatabase, column: 'removed_at' | 'holds_at'): Statement {
  return database.statement(`UPDATE @token_change SET version = version + 1, ${column} = version + 1`);
}

class PostgresTokenStore implements TokenStore {
  readonly #database: PostgresDatabase;
  readonly #tokens: Records<TokenRecord>;
  readonly #holds: Records<HoldRecord>;
  readonly #addToken: Statement;
  readonly #addHold: Statement;
  readonly #holdAdded: Statement;
  readonly #version: Statement;
  readonly #added: Statement;
  readonly #ids: Statement;
  readonly #agents: Statement;
  readonly #agentsSince: Statement;
  readonly #addAgents: Statement;
  readonly #dropAgents: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#tokens = new Records(database, 'token');
    this.#holds = new Records(database, 'hold');
    this.#addToken = database.statement(
      `WITH change AS (UPDATE @token_change SET version = version + 1 RETURNING version)
       INSERT INTO @token SELECT $1::text, $2::text, $3::bigint, $4::text, version FROM change`,
    );
    this.#holdAdded = raiseVersion(database, 'holds_at');
    this.#version = database.statement(
      'SELECT version, removed_at AS "removedAt", holds_at AS "holdsAt" FROM @token_change',
    );
    this.#added = database.statement('SELECT record FROM @token WHERE version > $1');
    this.#ids = database.statement('SELECT id FROM @token');
    this.#addHold = database.statement('INSERT INTO @hold VALUES ($1, $2, $3)');
    this.#agents = database.statement('SELECT name FROM @known_agent ORDER BY number');
    this.#agentsSince = database.statement(
      'SELECT name FROM @known_agent WHERE version > $1 ORDER BY number',
    );
    this.#addAgents = database.statement(
      `WITH change AS (UPDATE @token_change SET version = version + 1 RETURNING version)
       INSERT INTO @known_agent (name, version) SELECT name, version FROM change, unnest($1::text[]) WITH ORDINALITY AS k(name, place)
       WHERE NOT EXISTS (SELECT FROM @known_agent a WHERE a.name = k.name) ORDER BY place ON CONFLICT DO NOTHING`,
    );
    this.#dropAgents = database.statement(
      `DELETE FROM @known_agent WHERE number <= (SELECT number FROM @known_agent ORDER BY number DESC OFFSET ${maxAgents} LIMIT 1)`,
    );
  }

  all(): Promise<TokenRecord[]> {
    return this.#tokens.all();
  }

  /** The version is read before the changes, so that no change up to it is missing. */
  async changes(since: number): Promise<TokenChanges> {
    const [now] = await this.#database.read<{ version: number; removedAt: number; holdsAt: number }>(
      this.#version,
    );
    const { version, removedAt, holdsAt } = now!;
    if (version === since) return { version, added: [] };
    const agents = await this.#database.read<{ name: string }>(this.#agentsSince, [since]);
    const added = await this.#database.read<{ record: string }>(this.#added, [since]);
    const ids = removedAt > since ? await this.#database.read<{ id: string }>(this.#ids) : undefined;
    return {
      version,
      added: added.map(({ record }) => JSON.parse(record) as TokenRecord),
      ...(ids && { ids: new Set(ids.map(({ id }) => id)) }),
      ...(agents.length > 0 && { agents: agents.map(({ name }) => name) }),
      ...(holdsAt > since && { holds: await this.holds() }),
    };
  }

  async add(record: TokenRecord): Promise<void> {
    const { id, hash, createdAt } = record;
    const values = [id, hash, createdAt, JSON.stringify(record)];
    await this.#database.transaction((transaction) => transaction.query(this.#addToken, values));
  }

  remove(id: string): Promise<boolean> {
    return this.#tokens.remove(id);
  }

  holds(): Promise<HoldRecord[]> {
    return this.#holds.all();
  }

  async addHold(record: HoldRecord): Promise<void> {
    const values = [record.id, record.createdAt, JSON.stringify(record)];
    await this.#database.transaction(async (transaction) => {
      transaction.write(this.#addHold, values);
      transaction.write(this.#holdAdded);
    });
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

  /** Does nothing: the caller closes the database. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
