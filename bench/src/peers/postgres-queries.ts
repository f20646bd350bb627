import type pg from 'pg';
import type { QueryConfig } from 'pg';

/** Messages that a consumer takes at once at most. */
export const takenAtOnce = 256;
/** Up to here one statement with an array is faster; beyond it, quoting the array costs more than a statement for each row. */
const maxArrayChars = 64 * 1024;

/** A message on its way; `client` says who gets the reply. */
export interface Row {
  client: string;
  /** The id that its sender gave it. */
  id: string;
  body: string;
}

/** A message that was taken. */
export type TakenRow = Pick<Row, 'client' | 'body'>;

/** A queue in tables of PostgreSQL, as one writes it by hand. */
export interface TableQueue {
  /** SQL that makes the tables `requests`, `sink`, `pile` and `replies`, and others. */
  tables: string;
  /** Stores the rows and wakes the channels in one transaction and one round trip. */
  insert(
    connection: pg.Client,
    table: string,
    rows: readonly Row[],
    channels: readonly string[],
  ): Promise<unknown>;
  /** Takes what waits in a table, in a transaction that stays open. */
  take(connection: pg.Client, table: string): Promise<TakenRow[]>;
  /** Ends that transaction, with the replies and their notifications in it. */
  commit(connection: pg.Client, replies: readonly Row[], channels: readonly string[]): Promise<unknown>;
  /** Takes the replies for a client, which is their only reader; the commit is the ack. */
  takeReplies(connection: pg.Client, client: string): Promise<TakenRow[]>;
  /** SQL for tidying up between runs. */
  tidyings: readonly string[];
}

/** A queue that keeps nothing but what waits in it. */
export const bareQueue: TableQueue = {
  tables: tablesOf(),
  insert,
  take,
  commit,
  takeReplies,
  tidyings: ['TRUNCATE pile', 'VACUUM requests', 'VACUUM replies', 'VACUUM sink'],
};

/** The texts are random, so compressing large ones would be wasted work. */
function tablesOf(): string {
  return ['requests', 'sink', 'pile', 'replies']
    .map(
      (table) => `CREATE TABLE ${table} (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      client text NOT NULL,
      body text NOT NULL
    );
    ALTER TABLE ${table} ALTER body SET STORAGE EXTERNAL;`,
    )
    .concat('CREATE INDEX ON replies (client, id);')
    .join('\n');
}

function insert(
  connection: pg.Client,
  table: string,
  rows: readonly Row[],
  channels: readonly string[],
): Promise<unknown> {
  const all = insertions(table, rows, channels);
  return sendAll(connection, all.length === 1 ? all : ['BEGIN', ...all, 'COMMIT']);
}

async function take(connection: pg.Client, table: string): Promise<TakenRow[]> {
  const [, { rows }] = await Promise.all([
    connection.query('BEGIN'),
    connection.query<TakenRow>({
      name: `take-${table}`,
      text: `DELETE FROM ${table} WHERE id = ANY(ARRAY(
          SELECT id FROM ${table} ORDER BY id LIMIT ${takenAtOnce} FOR UPDATE SKIP LOCKED
        )) RETURNING client, body`,
    }),
  ]);
  return rows;
}

function commit(
  connection: pg.Client,
  replies: readonly Row[],
  channels: readonly string[],
): Promise<unknown> {
  return sendAll(connection, [...insertions('replies', replies, channels), 'COMMIT']);
}

async function takeReplies(connection: pg.Client, client: string): Promise<TakenRow[]> {
  const { rows } = await connection.query<TakenRow>({
    name: 'take-replies',
    text: 'DELETE FROM replies WHERE client = $1 RETURNING client, body',
    values: [client],
  });
  return rows;
}

/** All leave at once, because the connection pipelines. */
export function sendAll(connection: pg.Client, queries: readonly (string | QueryConfig)[]): Promise<unknown> {
  return Promise.all(queries.map((query) => connection.query(query)));
}

/** Returns the statements that insert rows and notify channels: a single one, unless the bodies are too long for an array. */
function insertions(table: string, rows: readonly Row[], channels: readonly string[]): QueryConfig[] {
  if (rows.length === 0) return [];
  const notify = "SELECT pg_notify(channel, '') FROM unnest($1::text[]) AS channel";
  const chars = rows.reduce((sum, { body }) => sum + body.length, 0);
  if (chars > maxArrayChars) {
    const inserts = rows.map(({ client, body }) => ({
      name: `insert-one-${table}`,
      text: `INSERT INTO ${table} (client, body) VALUES ($1, $2)`,
      values: [client, body],
    }));
    return channels.length === 0
      ? inserts
      : [...inserts, { name: 'notify', text: notify, values: [channels] }];
  }
  const text = `INSERT INTO ${table} (client, body) SELECT * FROM unnest($2::text[], $3::text[])`;
  return [
    {
      name: `insert-${table}`,
      text: `WITH inserted AS (${text}) ${notify}`,
      values: [channels, rows.map(({ client }) => client), rows.map(({ body }) => body)],
    },
  ];
}
