import type {
  AuditEvent,
  HoldRecord,
  TokenChanges,
  TokenIssuer,
  TokenRecord,
  TokenStore,
} from '@signalbox/store';
import type { PostgresAuditLog } from './audit-log.ts';
import type { Transaction } from './database/attempt.ts';
import type { PostgresDatabase } from './database/database.ts';
import type { Statement } from './database/statement.ts';

const maxAgents = 100_000;

/** Opens the tokens, the holds and the known agents of a database, which outlives the store. `audit` is the audit log of that database. */
export function openPostgresTokenStore(
  database: PostgresDatabase,
  audit: Pick<PostgresAuditLog, 'append'>,
): TokenStore {
  return new PostgresTokenStore(database, audit);
}

/** Makes the statement that raises the version for a change of one kind. */
function raiseVersion(database: PostgresDatabase, column: 'removed_at' | 'holds_at'): Statement {
  return database.statement(`UPDATE @token_change SET version = version + 1, ${column} = version + 1`);
}

class PostgresTokenStore implements TokenStore {
  readonly #database: PostgresDatabase;
  readonly #audit: Pick<PostgresAuditLog, 'append'>;
  readonly #tokens: Statement;
  readonly #lock: Statement;
  readonly #raise: Statement;
  readonly #addToken: Statement;
  readonly #removeTokens: Statement;
  readonly #tokensRemoved: Statement;
  readonly #holds: Statement;
  readonly #addHold: Statement;
  readonly #removeHold: Statement;
  readonly #holdsChanged: Statement;
  readonly #version: Statement;
  readonly #added: Statement;
  readonly #ids: Statement;
  readonly #agents: Statement;
  readonly #agentsSince: Statement;
  readonly #addAgents: Statement;
  readonly #dropAgents: Statement;

  constructor(database: PostgresDatabase, audit: Pick<PostgresAuditLog, 'append'>) {
    this.#database = database;
    this.#audit = audit;
    this.#tokens = database.statement('SELECT record FROM @token ORDER BY created_at, id');
    this.#holds = database.statement('SELECT record FROM @hold ORDER BY created_at, id');
    this.#lock = database.statement('SELECT version FROM @token_change FOR UPDATE');
    this.#raise = database.statement('UPDATE @token_change SET version = version + 1');
    this.#addToken = database.statement(
      `INSERT INTO @token SELECT $1::text, $2::text, $3::bigint, $4::text, version, $5::text FROM @token_change
       WHERE $6::text IS NULL OR EXISTS (SELECT FROM @token WHERE id = $6) = $7::boolean RETURNING id`,
    );
    this.#removeTokens = database.statement(
      `WITH RECURSIVE gone AS (SELECT $1::text AS id UNION SELECT t.id FROM gone JOIN @token t ON t.parent_id = gone.id)
       DELETE FROM @token WHERE id IN (SELECT id FROM gone) RETURNING id`,
    );
    this.#tokensRemoved = raiseVersion(database, 'removed_at');
    this.#holdsChanged = raiseVersion(database, 'holds_at');
    this.#version = database.statement(
      'SELECT version, removed_at AS "removedAt", holds_at AS "holdsAt" FROM @token_change',
    );
    this.#added = database.statement('SELECT record FROM @token WHERE version > $1');
    this.#ids = database.statement('SELECT id FROM @token');
    this.#addHold = database.statement('INSERT INTO @hold VALUES ($1, $2, $3)');
    this.#removeHold = database.statement('DELETE FROM @hold WHERE id = $1 RETURNING id');
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
    return this.#records<TokenRecord>(this.#tokens);
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

  /**
   * Looks for the issuer in a statement after the lock, which every change of tokens takes: so either the issuer's removal comes first, and
   * nothing is added, or the removal finds the new token.
   */
  async add(record: TokenRecord, issuer?: TokenIssuer, event?: AuditEvent): Promise<boolean> {
    const add = async (transaction: Transaction) => {
      transaction.write(this.#raise);
      return (await transaction.query(this.#addToken, tokenValues(record, issuer))).length > 0;
    };
    return this.#change(add, (isAdded) => (isAdded ? event : undefined));
  }

  async remove(
    id: string,
    revoked?: TokenRecord,
    eventOf: (removed: readonly string[]) => AuditEvent | undefined = () => undefined,
  ): Promise<string[]> {
    const remove = async (transaction: Transaction) => {
      transaction.write(this.#lock);
      const removed = await transaction.query<{ id: string }>(this.#removeTokens, [id]);
      if (removed.length > 0 || revoked) transaction.write(this.#tokensRemoved);
      if (revoked) transaction.write(this.#addToken, tokenValues(revoked));
      return removed.map((row) => row.id);
    };
    return this.#change(remove, eventOf);
  }

  /** Makes a change and writes its event in one transaction. */
  async #change<T>(
    make: (transaction: Transaction) => Promise<T>,
    eventOf: (made: T) => AuditEvent | undefined,
  ): Promise<T> {
    const { made, written } = await this.#database.transaction(async (transaction) => {
      const made = await make(transaction);
      const event = eventOf(made);
      return { made, written: event && (await this.#audit.append(transaction, [event])) };
    });
    written?.();
    return made;
  }

  holds(): Promise<HoldRecord[]> {
    return this.#records<HoldRecord>(this.#holds);
  }

  async addHold(record: HoldRecord, event?: AuditEvent): Promise<void> {
    const values = [record.id, record.createdAt, JSON.stringify(record)];
    const add = async (transaction: Transaction) => {
      transaction.write(this.#addHold, values);
      transaction.write(this.#holdsChanged);
    };
    await this.#change(add, () => event);
  }

  async removeHold(id: string, event?: AuditEvent): Promise<boolean> {
    const remove = async (transaction: Transaction) => {
      const removed = await transaction.query(this.#removeHold, [id]);
      if (removed.length > 0) transaction.write(this.#holdsChanged);
      return removed.length > 0;
    };
    return this.#change(remove, (isRemoved) => (isRemoved ? event : undefined));
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

  /** Reads records, which are kept as JSON. */
  async #records<T>(statement: Statement): Promise<T[]> {
    const rows = await this.#database.read<{ record: string }>(statement);
    return rows.map(({ record }) => JSON.parse(record) as T);
  }
}

function tokenValues(record: TokenRecord, issuer?: TokenIssuer): (string | number | boolean | null)[] {
  const { id, hash, createdAt, parentId = null } = record;
  const values = [id, hash, createdAt, JSON.stringify(record), parentId];
  return [...values, issuer?.id ?? null, issuer?.isStored ?? null];
}
