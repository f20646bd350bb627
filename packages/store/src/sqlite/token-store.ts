import type { Database, Statement } from 'better-sqlite3';
import type { Permission, TokenRecord, TokenStore } from '../token-store.ts';
import { closeDatabase, openDatabase, toStoreError } from './database.ts';

const schema = `
  CREATE TABLE token (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    permissions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    parent_id TEXT
  );
  CREATE TABLE agent (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
`;

const maxAgents = 100_000;

export interface SqliteTokenStoreOptions {
  /** A file of its own, created when missing, readable by its owner only. */
  file: string;
}

/** Opens the token store; each change is fsynced. Rejects with a `StoreError`, `add` also for an id or hash in use. */
export async function openSqliteTokenStore({ file }: SqliteTokenStoreOptions): Promise<TokenStore> {
  return openDatabase({ file, synchronous: 'full', schema }, (db) => new SqliteTokenStore(db, file));
}

type TokenRow = Omit<TokenRecord, 'permissions' | 'expiresAt' | 'parentId'> & {
  permissions: string;
  expiresAt: number | null;
  parentId: string | null;
};

class SqliteTokenStore implements TokenStore {
  readonly #db: Database;
  readonly #file: string;
  readonly #all: Statement<[], TokenRow>;
  readonly #add: Statement<(string | number | null)[]>;
  readonly #remove: Statement<[id: string]>;
  readonly #agents: Statement<[], string>;
  readonly #addAgent: Statement<[name: string]>;
  readonly #dropAgents: Statement<[]>;

  constructor(db: Database, file: string) {
    this.#db = db;
    this.#file = file;
    this.#all = db.prepare(
      `SELECT id, hash, agent, role, permissions, created_at AS createdAt, expires_at AS expiresAt,
         parent_id AS parentId
       FROM token ORDER BY created_at, id`,
    );
    this.#add = db.prepare(
      `INSERT INTO token (id, hash, agent, role, permissions, created_at, expires_at, parent_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#remove = db.prepare('DELETE FROM token WHERE id = ?');
    this.#agents = db.prepare<[], string>('SELECT name FROM agent ORDER BY number').pluck();
    this.#addAgent = db.prepare('INSERT INTO agent (name) VALUES (?) ON CONFLICT DO NOTHING');
    this.#dropAgents = db.prepare(
      `DELETE FROM agent WHERE number <= (SELECT max(number) FROM agent) - ${maxAgents}`,
    );
  }

  async all(): Promise<TokenRecord[]> {
    return this.#attempt(() => this.#all.all().map(toRecord));
  }

  async add(record: TokenRecord): Promise<void> {
    const { id, hash, agent, role, permissions, createdAt, expiresAt = null, parentId = null } = record;
    this.#attempt(() => {
      this.#add.run(id, hash, agent, role, JSON.stringify(permissions), createdAt, expiresAt, parentId);
    });
  }

  async remove(id: string): Promise<boolean> {
    return this.#attempt(() => this.#remove.run(id).changes > 0);
  }

  async agents(): Promise<string[]> {
    return this.#attempt(() => this.#agents.all());
  }

  async addAgents(agents: readonly string[]): Promise<void> {
    const add = this.#db.transaction(() => {
      for (const agent of agents) this.#addAgent.run(agent);
      this.#dropAgents.run();
    });
    this.#attempt(() => add.immediate());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeDatabase(this.#db);
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (thrown) {
      throw toStoreError(thrown, this.#file);
    }
  }
}

function toRecord({ permissions, expiresAt, parentId, ...rest }: TokenRow): TokenRecord {
  return {
    ...rest,
    permissions: JSON.parse(permissions) as Permission[],
    ...(expiresAt !== null && { expiresAt }),
    ...(parentId !== null && { parentId }),
  };
}
