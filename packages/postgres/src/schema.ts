import { randomBytes } from 'node:crypto';
import { StoreError } from '@signalbox/store/rules';
import type { Transaction } from './database/attempt.ts';
import type { PostgresDatabase } from './database/database.ts';
import { statementOf } from './database/statement.ts';
import { isLockTimeout } from './database/store-errors.ts';

/** The version of the tables. */
export const schemaVersion = 8;

const name = 'text COLLATE "C" NOT NULL';

/**
 * The longest wait for a lock, in milliseconds. Tables are made quickly; only a copy of a whole store takes longer. The server keeps a lock
 * for up to 5 s whose process it has lost out of sight in the middle of a transaction, such as an earlier start of this broker.
 */
const lockTimeoutMs = 10_000;

/** The settings of tables whose rows are added and removed all the time. */
const busy =
  'autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0';

/**
 * SQL for the key under which a message is found by its id. None of its parts has a space. It is a single value, so that the planner can
 * choose no other index than that of the key, even if it knows nothing about the table. `alias` is empty or ends with a dot.
 */
export function idKey(alias: string): string {
  return `(${alias}inbox || ' ' || ${alias}id || ' ' || ${alias}sender)`;
}

/** SQL for the key of a message to a group with its inbox. It is a single value for the same reason. */
export function groupKey(alias: string): string {
  return `(${alias}inbox || ' ' || ${alias}group_key)`;
}

/**
 * Returns SQL for the condition that a row has the inbox and the seq of another. The array keeps the planner from reading the whole table
 * first, in the order of an index, which costs least by what it knows of a table that was empty when it was last analyzed.
 */
export function isAtPlace(row: string, other: string): string {
  return `${row}.inbox = ANY(ARRAY[${other}.inbox]) AND ${row}.seq = ${other}.seq`;
}

/** Returns SQL for the condition that a row has the {@link idKey} of another, with an array for the same reason. */
export function hasIdOf(row: string, other: string): string {
  return `${idKey(`${row}.`)} = ANY(ARRAY[${idKey(`${other}.`)}])`;
}

/** Returns SQL for the condition that a message of any sender has an inbox and an id. */
export function hasIdIn(alias: string, inbox: string, id: string): string {
  const key = idKey(alias);
  // The exclamation mark is the character after the space.
  return `${key} > (${inbox} || ' ' || ${id} || ' ') AND ${key} < (${inbox} || ' ' || ${id} || '!')`;
}

/** The columns of a message, pending, scheduled or dead. `details` is JSON of the fields that no query searches. */
const messageColumns = `
  inbox ${name}, seq bigint NOT NULL, id ${name}, sender ${name}, kind ${name}, token_id text COLLATE "C",
  is_counted boolean NOT NULL, created_at bigint NOT NULL, expires_at bigint NOT NULL, open_until bigint, size int NOT NULL,
  attempts int NOT NULL, answered boolean NOT NULL, takers text[], details text NOT NULL, body bytea`;

/** The tables of the incarnations that use a schema. */
const incarnationTables = `
  -- Those that use the schema: see database/broker-incarnation.ts.
  CREATE TABLE @incarnation (
    broker text PRIMARY KEY, epoch bigint NOT NULL, owner text NOT NULL, begun_at timestamptz NOT NULL,
    alive_since timestamptz NOT NULL, alive_until timestamptz NOT NULL, is_over boolean NOT NULL, commits bigint NOT NULL
  ) WITH (fillfactor = 50, ${busy});
  -- The epochs of all, so that one names an incarnation.
  CREATE SEQUENCE @incarnation_epoch;
  CREATE TABLE @meta (key text PRIMARY KEY, value text NOT NULL);
`;

/**
 * The tables; `@` stands for the schema. Bodies are stored uncompressed and as bytes: PostgreSQL's text holds no NUL, and compressing costs
 * more than it saves.
 */
const tables = `
  -- The secret of the brokers, by which they know each other on links: see cluster/links.ts.
  INSERT INTO @meta VALUES ('link_secret', gen_random_uuid() || ' ' || gen_random_uuid());
  -- One sequence for all inboxes. Its numbers are drawn while the rows of the inboxes are locked: see inbox-store/batch-loader.ts.
  CREATE SEQUENCE @message_seq;
  -- The sequence of an identity column of an unlogged table would be unlogged, too, and a promoted standby may not be able to read it.
  CREATE SEQUENCE @live_id;
  -- What a broker has to look at: an inbox of its that another one has stored messages in, or has taken. In a shared inbox, seq names a
  -- message that may be claimed, and 0 says that any may. A crash of the server empties it.
  CREATE UNLOGGED TABLE @wake (
    id bigint PRIMARY KEY, incarnation bigint NOT NULL, inbox ${name}, seq bigint
  ) WITH (${busy});
  CREATE INDEX ON @wake (incarnation);
  -- What is told to the holder of an inbox and never stored.
  CREATE UNLOGGED TABLE @live (
    id bigint DEFAULT nextval('@live_id') PRIMARY KEY, incarnation bigint NOT NULL, inbox ${name}, header bytea NOT NULL, body bytea
  ) WITH (${busy});
  CREATE INDEX ON @live (incarnation, id);
  -- The callers of each broker: see cluster/presence.ts.
  CREATE UNLOGGED TABLE @presence (
    key text COLLATE "C" PRIMARY KEY, incarnation bigint NOT NULL, agent ${name}, role ${name}, details text NOT NULL
  ) WITH (fillfactor = 50, ${busy});
  CREATE INDEX ON @presence (incarnation);
  CREATE INDEX ON @presence (agent);
  -- A broker whose row is gone writes anew what it had in unlogged tables: see cluster/living-brokers.ts. link has the addresses at which
  -- it takes links, separated by commas; what they speak has the version of the tables.
  CREATE UNLOGGED TABLE @broker_state (incarnation bigint PRIMARY KEY, link text NOT NULL);
  -- The row that each transaction locks that stores a message in an inbox, or settles one. incarnation is the epoch of the broker which
  -- holds the inbox, or members those of the brokers that share it, and head_seq the highest number that was given to a message of it.
  -- No broker that held it has handed out a message after taken_seq.
  CREATE TABLE @inbox (
    name text COLLATE "C" PRIMARY KEY, incarnation bigint, members bigint[], head_seq bigint NOT NULL DEFAULT 0,
    taken_seq bigint NOT NULL DEFAULT 0, pending bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0,
    scheduled bigint NOT NULL DEFAULT 0, scheduled_bytes bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50, ${busy});
  -- What is stored for each agent, and of each agent as far as it counts against it. Locked after the inboxes.
  CREATE TABLE @agent (
    name text COLLATE "C" PRIMARY KEY, received bigint NOT NULL DEFAULT 0, received_bytes bigint NOT NULL DEFAULT 0,
    sent bigint NOT NULL DEFAULT 0, sent_bytes bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50, ${busy});
  -- What waits of a sender for an agent and counts against the sender, whose row is locked.
  CREATE TABLE @sent_to (
    sender ${name}, recipient ${name}, messages bigint NOT NULL, bytes bigint NOT NULL, PRIMARY KEY (sender, recipient)
  ) WITH (fillfactor = 50, ${busy});

  -- group_key is the key of a message to a group. is_cancelled marks a request that was cancelled while a broker had it.
  CREATE TABLE @message (${messageColumns}, group_key text COLLATE "C", is_cancelled boolean NOT NULL DEFAULT false, PRIMARY KEY (inbox, seq)) WITH (${busy});
  ALTER TABLE @message ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX ON @message (${idKey('')});
  -- seq + 0 keeps it from being chosen to find a seq.
  CREATE INDEX ON @message (expires_at, (seq + 0));
  CREATE INDEX ON @message (token_id, seq) WHERE token_id IS NOT NULL;
  CREATE INDEX ON @message (inbox, seq) WHERE attempts > 0;
  CREATE INDEX ON @message (inbox, seq) WHERE is_cancelled;
  CREATE INDEX ON @message (${groupKey('')}, seq) WHERE group_key IS NOT NULL;
  -- Messages of shared inboxes that were handed out: incarnation is the epoch of the broker that has a message, if one does, and was_out
  -- tells whether one had it before. Only incarnations among the members of an inbox have claims. Written under the lock of the inbox.
  CREATE TABLE @claim (
    inbox ${name}, seq bigint NOT NULL, incarnation bigint, was_out boolean NOT NULL, PRIMARY KEY (inbox, seq)
  ) WITH (fillfactor = 50, ${busy});
  -- The keys of shared inboxes that stay with one member, and the broker that has it.
  CREATE TABLE @key_member (inbox ${name}, key ${name}, incarnation bigint NOT NULL, PRIMARY KEY (inbox, key));

  CREATE TABLE @scheduled (${messageColumns}, sent_at bigint NOT NULL, PRIMARY KEY (seq)) WITH (${busy});
  ALTER TABLE @scheduled ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX ON @scheduled (${idKey('')});
  CREATE INDEX ON @scheduled (created_at, seq);
  CREATE INDEX ON @scheduled (sender, created_at, seq);
  CREATE INDEX ON @scheduled (sender, id);

  CREATE TABLE @dead_letter (${messageColumns}, dead_at bigint NOT NULL, reason text, PRIMARY KEY (seq));
  ALTER TABLE @dead_letter ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE INDEX ON @dead_letter (inbox, seq);

  -- Settled messages are in one table for each span of time, which is dropped whole: see inbox-store/settled-slices.ts.
  CREATE TABLE @slice (number int PRIMARY KEY, begun_at bigint NOT NULL, ended_at bigint);

  -- Bodies that are kept for people to read, with the threads of their messages: see inbox-store/kept-body-table.ts. words is null until
  -- the words of a body were added. The bytes of all of them are the sum of what the brokers have added and removed, so that no two brokers
  -- change the same row of kept_amount.
  CREATE TABLE @kept_body (
    seq bigint PRIMARY KEY, thread ${name}, id ${name}, correlation_id text COLLATE "C", sender ${name}, recipient ${name}, inbox ${name},
    kind ${name}, created_at bigint NOT NULL, size int NOT NULL, body bytea NOT NULL, words tsvector
  ) WITH (${busy});
  ALTER TABLE @kept_body ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE INDEX ON @kept_body (thread, (seq + 0));
  CREATE INDEX ON @kept_body (sender, (seq + 0));
  CREATE INDEX ON @kept_body (recipient, (seq + 0));
  CREATE INDEX ON @kept_body ((seq + 0)) WHERE words IS NULL;
  CREATE INDEX ON @kept_body USING gin (words);
  CREATE TABLE @kept_amount (broker text PRIMARY KEY, bytes bigint NOT NULL) WITH (fillfactor = 50, ${busy});

  -- Requests that can or could be answered, and whose slice was dropped.
  CREATE TABLE @open_request (
    seq bigint PRIMARY KEY, requester ${name}, id ${name}, inbox ${name}, open_until bigint NOT NULL, is_over boolean NOT NULL,
    takers text[] NOT NULL, details text NOT NULL
  );
  CREATE INDEX ON @open_request (requester, id, inbox);
  CREATE INDEX ON @open_request (open_until);

  -- Records as JSON.
  CREATE TABLE @token (
    id text PRIMARY KEY, hash text NOT NULL UNIQUE, created_at bigint NOT NULL, record text NOT NULL, version bigint NOT NULL,
    parent_id text
  );
  CREATE INDEX ON @token (version);
  CREATE INDEX ON @token (parent_id);
  -- The version of tokens, holds and known agents. Each change raises it under the lock of this row, so that the order is that of the commits.
  CREATE TABLE @token_change (version bigint NOT NULL, removed_at bigint NOT NULL, holds_at bigint NOT NULL) WITH (${busy});
  INSERT INTO @token_change VALUES (0, 0, 0);
  CREATE TABLE @hold (id text PRIMARY KEY, created_at bigint NOT NULL, record text NOT NULL);
  CREATE TABLE @known_agent (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, version bigint NOT NULL
  );
  CREATE INDEX ON @known_agent (version);

  -- The rows of all kinds share their numbers, which are drawn while the rows of all chains are locked.
  CREATE TABLE @audit (
    kind text NOT NULL, number bigint NOT NULL, entry text NOT NULL, hash text NOT NULL, recorded_at bigint NOT NULL,
    PRIMARY KEY (kind, number)
  );
  CREATE INDEX ON @audit (kind, recorded_at, number);
  CREATE TABLE @audit_chain (
    kind text PRIMARY KEY, dropped_number bigint NOT NULL, dropped_hash text NOT NULL, last_number bigint NOT NULL, last_hash text NOT NULL,
    row_count bigint NOT NULL, bytes bigint NOT NULL, recorded_at bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE @audit_batch (sender text PRIMARY KEY, id text NOT NULL);

  CREATE TABLE @journal (inbox text COLLATE "C" PRIMARY KEY, generation text NOT NULL, foreign_up_to bigint NOT NULL, epoch text NOT NULL);
`;

/** Returns SQL for the table of a slice: the metadata of messages, and their ends. No column except `answered` changes. */
export function sliceTable(number: number, begunAt: number): string {
  return `
  CREATE TABLE @${sliceName(number)} (
    inbox ${name}, seq bigint NOT NULL, id ${name}, sender ${name}, kind ${name}, created_at bigint NOT NULL,
    expires_at bigint NOT NULL, open_until bigint, size int NOT NULL, answered boolean NOT NULL, takers text[], details text NOT NULL,
    settled_at bigint NOT NULL, outcome text NOT NULL, reason text
  );
  CREATE INDEX ON @${sliceName(number)} (${idKey('')});
  INSERT INTO @slice VALUES (${number}, ${Math.floor(begunAt)}, NULL);
`;
}

/** Returns the name of a slice's table. */
export function sliceName(number: number): string {
  return `settled_${number}`;
}

/**
 * Makes the tables, if they are missing. Brokers that do so at the same time wait for each other. Rejects with a `StoreError` if other
 * tables exist.
 */
export async function prepareSchema(database: PostgresDatabase, now: () => number): Promise<void> {
  await prepareTables(database, { version: schemaVersion, make: () => `${tables}${sliceTable(1, now())}` });
}

/** Makes tables of a version beside those of incarnations, as {@link prepareSchema} does. */
export async function prepareTables(
  database: PostgresDatabase,
  { version, make }: { version: number; make: () => string },
): Promise<void> {
  await database.prepare(async (transaction) => {
    const presence = await lockSchema(transaction, database);
    if (presence === 'tables')
      return checkVersion(await transaction.query(database.unnamed(versionQuery)), database.place, version);
    create(transaction, database, { presence, version, made: make() });
  });
}

/** The existing parts of a schema. */
type Presence = 'nothing' | 'schema' | 'tables';

/** Makes everybody else who makes tables wait for this transaction. Returns what exists. */
export async function lockSchema(
  transaction: Transaction,
  { schema, place }: PostgresDatabase,
): Promise<Presence> {
  transaction.script(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
  try {
    await transaction.query(
      statementOf('', `SELECT pg_advisory_xact_lock(hashtext('signalbox'), hashtext($1))`),
      [schema],
    );
  } catch (thrown) {
    if (!isLockTimeout(thrown)) throw thrown;
    throw new StoreError(
      'store_in_use',
      `${place}: another program makes its tables, or copies a store into it. Start again when that one has ended.`,
    );
  }
  const [found] = await transaction.query<{ schema: string | null; meta: string | null }>(
    statementOf('', 'SELECT to_regnamespace($1)::text AS schema, to_regclass($2)::text AS meta'),
    [schema, `${schema}.meta`],
  );
  if (found?.schema == null) return 'nothing';
  return found.meta == null ? 'schema' : 'tables';
}

/** Makes the tables, and the schema if nothing exists. */
export function makeTables(
  transaction: Transaction,
  database: PostgresDatabase,
  { presence, now }: { presence: Exclude<Presence, 'tables'>; now: number },
): void {
  const made = `${tables}${sliceTable(1, now)}`;
  create(transaction, database, { presence, version: schemaVersion, made });
}

function create(
  transaction: Transaction,
  database: PostgresDatabase,
  { presence, version, made }: { presence: Exclude<Presence, 'tables'>; version: number; made: string },
): void {
  const schema = presence === 'nothing' ? `CREATE SCHEMA ${database.schema};` : '';
  transaction.script(database.inSchema(`${schema}${incarnationTables}${made}`));
  const identity = randomBytes(16).toString('hex');
  transaction.write(database.unnamed(`INSERT INTO @meta VALUES ('version', $1), ('identity', $2)`), [
    String(version),
    identity,
  ]);
}

/** SQL for the version of the existing tables. */
export const versionQuery = `SELECT value FROM @meta WHERE key = 'version'`;

/** Throws if the tables have another version than this program reads. */
export function checkVersion(
  rows: readonly { value: string }[],
  place: string,
  version: number = schemaVersion,
): void {
  const found = rows[0]?.value;
  if (found === String(version)) return;
  throw new StoreError(
    'store_other_version',
    `${place}: it has version ${found ?? 'none'} of the tables, and this Signalbox reads version ${version}. Use the one that wrote it, or another schema.`,
  );
}
