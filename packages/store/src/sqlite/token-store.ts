import type { Database, Statement } from 'better-sqlite3';
import type { AuditEvent } from '../audit-log.ts';
import type { Damage } from '../damage.ts';
import type { ContentEntry } from '../store-content.ts';
import type { HoldRecord, Permission, TokenIssuer, TokenRecord, TokenStore } from '../token-store.ts';
import { readDatabase } from './backup/read-database.ts';
import { closeDatabase, emptyLog, formatVersion, openDatabase, toStoreError } from './database.ts';
import { shrinkWhileOpen } from './file-shrinker.ts';
import { allHolds, type HoldRow, holdColumns, holdSchema, isSoundHold, toHold } from './hold-table.ts';
import { rowChecksum } from './row-checksum.ts';

/** The tables of the token store. */
export const tokenSchema = `
  CREATE TABLE token (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    permissions TEXT NOT NULL,
    roles TEXT,
    approves TEXT,
    issuers TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    parent_id TEXT,
    is_sign_in INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  );
  ${holdSchema}
  CREATE TABLE agent (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER NOT NULL);
`;

const maxAgents = 100_000;
/** The time between a failed attempt to empty the log and the next one, in milliseconds. */
const emptyAgainMs = 1000;

export interface SqliteTokenStoreOptions {
  /** The file of the database, created when missing, readable by its owner only. */
  file: string;
  /** Called with damage that the store goes on with. */
  onDamage?: (damage: Damage) => void;
  /** Records the event of a change in the audit log. */
  record?: (event: AuditEvent) => void;
}

/**
 * Opens the token store; each change is fsynced. Added and removed tokens and holds do not stay in SQLite's log, which ends silently where
 * it was cut: a removed token would be valid again, and a hold would be gone. Rejects with a `StoreError`; `add` also does for an id or
 * hash that is in use.
 */
export async function openSqliteTokenStore(options: SqliteTokenStoreOptions): Promise<TokenStore> {
  const { file, onDamage = () => {}, record = () => {} } = options;
  return openDatabase({ file, synchronous: 'full', schema: tokenSchema }, (db) => {
    const store = new SqliteTokenStore(db, file, record);
    store.findDamage(onDamage);
    shrinkWhileOpen(db, file);
    return store;
  });
}

const allTokens = `SELECT id, hash, agent, role, permissions, roles, approves, issuers, created_at AS createdAt,
    expires_at AS expiresAt, parent_id AS parentId, is_sign_in AS isSignIn, checksum
  FROM token ORDER BY created_at, id`;
const allAgents = 'SELECT name, checksum FROM agent ORDER BY number';

type ListColumn = 'permissions' | 'roles' | 'approves' | 'issuers';

type TokenRow = Omit<TokenRecord, ListColumn | 'expiresAt' | 'parentId' | 'isSignIn'> & {
  permissions: string;
  roles: string | null;
  approves: string | null;
  issuers: string | null;
  expiresAt: number | null;
  parentId: string | null;
  isSignIn: number;
  checksum: number;
};

class SqliteTokenStore implements TokenStore {
  readonly #db: Database;
  readonly #file: string;
  readonly #record: (event: AuditEvent) => void;
  readonly #all: Statement<[], TokenRow>;
  readonly #add: Statement<(string | number | null)[]>;
  readonly #isStored: Statement<[id: string]>;
  readonly #remove: Statement<[id: string], { id: string }>;
  readonly #agents: Statement<[], { name: string; checksum: number }>;
  readonly #addAgent: Statement<[name: string, checksum: number]>;
  readonly #dropAgents: Statement<[]>;
  readonly #holds: Statement<[], HoldRow>;
  readonly #addHold: Statement<(string | number | null)[]>;
  readonly #removeHold: Statement<[id: string]>;
  #emptyAgain: NodeJS.Timeout | undefined;

  constructor(db: Database, file: string, record: (event: AuditEvent) => void) {
    this.#db = db;
    this.#file = file;
    this.#record = record;
    this.#all = db.prepare(allTokens);
    this.#add = db.prepare(
      `INSERT INTO token (id, hash, agent, role, permissions, roles, approves, issuers, created_at, expires_at, parent_id,
         is_sign_in, checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#isStored = db.prepare('SELECT 1 FROM token WHERE id = ?');
    this.#remove = db.prepare(
      `WITH RECURSIVE gone(id) AS (SELECT ? UNION SELECT token.id FROM token JOIN gone ON token.parent_id = gone.id)
       DELETE FROM token WHERE id IN (SELECT id FROM gone) RETURNING id`,
    );
    this.#agents = db.prepare(allAgents);
    this.#addAgent = db.prepare('INSERT INTO agent (name, checksum) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#dropAgents = db.prepare(
      `DELETE FROM agent WHERE number <= (SELECT max(number) FROM agent) - ${maxAgents}`,
    );
    this.#holds = db.prepare(allHolds);
    this.#addHold = db.prepare('INSERT INTO hold VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#removeHold = db.prepare('DELETE FROM hold WHERE id = ?');
  }

  /**
   * Reports damaged rows. Damaged agents are deleted, since they are remembered again when they connect. Then the indexes are built again:
   * a key in them may differ from that of its row.
   */
  findDamage(report: (damage: Damage) => void): void {
    const tokens = this.#all.all().filter((row) => !isSoundToken(row));
    const agents = this.#agents.all().filter((row) => !isSoundAgent(row));
    const holds = this.#holds.all().filter((row) => !isSoundHold(row));
    if (tokens.length + agents.length + holds.length === 0) return;
    this.#db.exec('REINDEX');
    for (const { name } of agents) this.#db.prepare('DELETE FROM agent WHERE name = ?').run(name);
    for (const { id } of tokens)
      report({
        what: 'token',
        detail: `the row of token '${id}' is damaged: it authenticates nobody any more`,
      });
    for (const { id } of holds)
      report({
        what: 'hold',
        detail: `the row of hold '${id}' is damaged: it counts as a hold on everything until it is released`,
      });
    if (agents.length > 0)
      report({ what: 'agent', detail: `${agents.length} rows of known agents were damaged` });
  }

  async all(): Promise<TokenRecord[]> {
    return this.#attempt(() => this.#all.all().map(toRecord));
  }

  async add(record: TokenRecord, issuer?: TokenIssuer, event?: AuditEvent): Promise<boolean> {
    return this.#attempt(() => {
      if (issuer && (this.#isStored.get(issuer.id) !== undefined) !== issuer.isStored) return false;
      this.#change(
        () => this.#insert(record),
        () => event,
      );
      this.#emptyLog();
      return true;
    });
  }

  /** Makes a change, and records its event before the commit: a change that is refused leaves no event. */
  #change<T>(make: () => T, eventOf: (made: T) => AuditEvent | undefined): T {
    const change = this.#db.transaction(() => {
      const made = make();
      const event = eventOf(made);
      if (event) this.#record(event);
      return made;
    });
    return change.immediate();
  }

  #insert(record: TokenRecord): void {
    const { id, hash, agent, role, createdAt, expiresAt = null, parentId = null } = record;
    const permissions = JSON.stringify(record.permissions);
    const [roles, approves, issuers] = [record.roles, record.approves, record.issuers].map(listText) as [
      string | null,
      string | null,
      string | null,
    ];
    const row = {
      id,
      hash,
      agent,
      role,
      permissions,
      roles,
      approves,
      issuers,
      createdAt,
      expiresAt,
      parentId,
      isSignIn: record.isSignIn ? 1 : 0,
    };
    this.#add.run(...columnsOf(row), checksumOf(row));
  }

  async remove(
    id: string,
    revoked?: TokenRecord,
    eventOf: (removed: readonly string[]) => AuditEvent | undefined = () => undefined,
  ): Promise<string[]> {
    const remove = (): string[] => {
      const removed = this.#remove.all(id);
      if (revoked) this.#insert(revoked);
      return removed.map((row) => row.id);
    };
    return this.#attempt(() => {
      const removed = this.#change(remove, eventOf);
      if (removed.length > 0 || revoked) this.#emptyLog();
      return removed;
    });
  }

  async holds(): Promise<HoldRecord[]> {
    return this.#attempt(() => this.#holds.all().map(toHold));
  }

  async addHold(record: HoldRecord, event?: AuditEvent): Promise<void> {
    this.#attempt(() => {
      this.#change(
        () => this.#addHold.run(...holdColumns(record)),
        () => event,
      );
      this.#emptyLog();
    });
  }

  async removeHold(id: string, event?: AuditEvent): Promise<boolean> {
    return this.#attempt(() => {
      const isRemoved = this.#change(
        () => this.#removeHold.run(id).changes > 0,
        (isHere) => (isHere ? event : undefined),
      );
      if (isRemoved) this.#emptyLog();
      return isRemoved;
    });
  }

  async agents(): Promise<string[]> {
    return this.#attempt(() =>
      this.#agents
        .all()
        .filter(isSoundAgent)
        .map(({ name }) => name),
    );
  }

  async addAgents(agents: readonly string[]): Promise<void> {
    const add = this.#db.transaction(() => {
      for (const agent of agents) this.#addAgent.run(agent, rowChecksum(agent));
      this.#dropAgents.run();
    });
    this.#attempt(() => add.immediate());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#emptyAgain);
    closeDatabase(this.#db);
  }

  /** Empties the log now, or as soon as nobody reads the database any more. A backup reads it for a while. */
  #emptyLog(): void {
    clearTimeout(this.#emptyAgain);
    if (emptyLog(this.#db)) return;
    this.#emptyAgain = setTimeout(() => this.#emptyLog(), emptyAgainMs).unref();
  }

  #attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (thrown) {
      throw toStoreError(thrown, this.#file);
    }
  }
}

function listText(list: readonly string[] | undefined): string | null {
  return list === undefined ? null : JSON.stringify(list);
}

function toRecord(row: TokenRow): TokenRecord {
  const { permissions, roles, approves, issuers, expiresAt, parentId, isSignIn, checksum, ...rest } = row;
  const isSound = isSoundToken(row);
  return {
    ...rest,
    permissions: isSound ? (JSON.parse(permissions) as Permission[]) : [],
    ...(isSound && roles !== null && { roles: JSON.parse(roles) as string[] }),
    ...(isSound && approves !== null && { approves: JSON.parse(approves) as string[] }),
    ...(isSound && issuers !== null && { issuers: JSON.parse(issuers) as string[] }),
    ...(!isSound && { damaged: true as const }),
    ...(expiresAt !== null && { expiresAt }),
    ...(parentId !== null && { parentId }),
    ...(isSignIn === 1 && { isSignIn: true as const }),
  };
}

function checksumOf(row: Omit<TokenRow, 'checksum'>): number {
  return rowChecksum(...columnsOf(row));
}

/** Returns the columns of a row in the order of the table. */
function columnsOf(row: Omit<TokenRow, 'checksum'>): (string | number | null)[] {
  const { id, hash, agent, role, permissions, roles, approves, issuers } = row;
  const { createdAt, expiresAt, parentId, isSignIn } = row;
  return [
    ...[id, hash, agent, role, permissions, roles, approves, issuers],
    ...[createdAt, expiresAt, parentId, isSignIn],
  ];
}

function isSoundToken(row: TokenRow): boolean {
  return row.checksum === checksumOf(row);
}

function isSoundAgent({ name, checksum }: { name: string; checksum: number }): boolean {
  return checksum === rowChecksum(name);
}

/** Reads all undamaged content of a token store. */
export function* tokenContent(db: Database): Iterable<ContentEntry> {
  for (const row of db.prepare<[], TokenRow>(allTokens).all()) yield ['token', toRecord(row)];
  for (const row of db.prepare<[], HoldRow>(allHolds).all()) yield ['hold', toHold(row)];
  for (const { name } of db.prepare<[], { name: string }>(allAgents).all()) yield ['agent', { name }];
}

/** The result of {@link verifyTokenStore}. */
export interface VerifiedTokens {
  /** A description of each damage; empty if the store is undamaged. */
  problems: string[];
  tokens: number;
  agents: number;
}

/** Reads every row of a token store that is not in use, and checks it. Changes nothing. Throws a `StoreError`. */
export function verifyTokenStore(file: string): VerifiedTokens {
  return readDatabase(file, { schema: tokenSchema, version: formatVersion }, (db, problems) => {
    const tokens = db.prepare<[], TokenRow>(allTokens).all();
    const agents = db.prepare<[], { name: string; checksum: number }>(allAgents).all();
    for (const row of tokens)
      if (!isSoundToken(row)) problems.push(`the row of token '${row.id}' is damaged`);
    for (const row of db.prepare<[], HoldRow>(allHolds).all())
      if (!isSoundHold(row)) problems.push(`the row of hold '${row.id}' is damaged`);
    for (const row of agents)
      if (!isSoundAgent(row)) problems.push(`the row of agent '${row.name}' is damaged`);
    return { problems, tokens: tokens.length, agents: agents.length };
  });
}
