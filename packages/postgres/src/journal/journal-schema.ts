/** The version of the tables. It changes with each change of them. */
export const schemaVersion = 3;

const name = 'text COLLATE "C" NOT NULL';
const busy =
  'autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0';

/**
 * SQL for the key under which a call is found. Neither part has a space. It is a single value, so that the planner can choose no other index
 * of the agent, even if it knows nothing about the table. `alias` is empty or ends with a dot.
 */
export function callKey(alias: string): string {
  return `(${alias}agent || ' ' || ${alias}request_id)`;
}

/**
 * SQL that makes the tables; `@` stands for the schema. `details` is JSON of the fields that no query searches. Times of calls are those of
 * the database, in epoch milliseconds, except those in `details`.
 */
export function journalTables(id: string): string {
  return `
  INSERT INTO @meta VALUES ('journal', '${id}');
  -- incarnation is that of the orchestrator that has started the call, or keeps its reply. Only that one may write its end.
  CREATE TABLE @call (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, agent ${name}, request_id ${name}, incarnation bigint NOT NULL, inbox ${name},
    details text NOT NULL, received_at bigint NOT NULL, started_at bigint, over_at bigint NOT NULL, finished_at bigint, outcome text,
    reply text, reply_bytes int NOT NULL DEFAULT 0, is_kept boolean NOT NULL DEFAULT false, settled_at bigint
  ) WITH (${busy});
  ALTER TABLE @call ALTER COLUMN reply SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX ON @call (${callKey('')});
  CREATE INDEX ON @call (received_at);
  CREATE INDEX ON @call (agent, number);
  CREATE INDEX ON @call (settled_at) WHERE NOT is_kept AND settled_at IS NOT NULL;
  CREATE INDEX ON @call (agent, settled_at) WHERE is_kept AND settled_at IS NOT NULL;
  CREATE INDEX ON @call (inbox, number) WHERE settled_at IS NULL;

  CREATE TABLE @approval (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, agent ${name}, request_id ${name},
    idempotency_key text COLLATE "C", details text NOT NULL, ending text, is_used boolean NOT NULL DEFAULT false,
    UNIQUE (agent, request_id)
  );
  CREATE INDEX ON @approval (agent, idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX ON @approval (number) WHERE ending IS NULL;
  CREATE TABLE @approval_attachment (agent ${name}, request_id ${name}, id text NOT NULL, PRIMARY KEY (agent, request_id));
  CREATE INDEX ON @approval_attachment (id);
  CREATE TABLE @standing_approval (id text PRIMARY KEY, created_at bigint NOT NULL, record text NOT NULL);

  CREATE TABLE @definition_sight (server ${name}, kind ${name}, PRIMARY KEY (server, kind));
  CREATE TABLE @definition_pin (
    server ${name}, kind ${name}, name ${name}, pin text NOT NULL, definition text NOT NULL, PRIMARY KEY (server, kind, name)
  );
  -- The incarnation that serves an inbox. Others wait until it is over.
  CREATE TABLE @leader (inbox text COLLATE "C" PRIMARY KEY, incarnation bigint NOT NULL);
  -- Raised with each change, so that the other orchestrators see that there is something to read again.
  CREATE TABLE @change (approvals bigint NOT NULL, pins bigint NOT NULL) WITH (fillfactor = 50, ${busy});
  INSERT INTO @change VALUES (0, 0);
`;
}
