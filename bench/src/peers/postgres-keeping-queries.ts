import type pg from 'pg';
import { type Row, sendAll, type TableQueue, type TakenRow, takenAtOnce } from './postgres-queries.ts';

const tables = ['requests', 'sink', 'pile', 'replies'] as const;
const settledTable = 'settled';

/**
 * A queue that promises what ours does of a message: its id is stored once, also after it was settled; an inbox has a cap; and what was
 * settled is remembered. All changes of a transaction that belong to one batch are one statement.
 */
export const keepingQueue: TableQueue = {
  tables: [
    ...tables.map(
      (table) => `CREATE TABLE ${table} (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        inbox text NOT NULL,
        sender text NOT NULL,
        id text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        body text NOT NULL
      );
      ALTER TABLE ${table} ALTER body SET STORAGE EXTERNAL;
      CREATE UNIQUE INDEX ON ${table} (inbox, sender, id);`,
    ),
    `CREATE TABLE ${settledTable} (
      inbox text NOT NULL, sender text NOT NULL, id text NOT NULL, seq bigint NOT NULL,
      created_at timestamptz NOT NULL, settled_at timestamptz NOT NULL, size int NOT NULL
    );
    CREATE UNIQUE INDEX ON ${settledTable} (inbox, sender, id);
    CREATE TABLE cap (
      inbox text PRIMARY KEY, pending bigint NOT NULL, bytes bigint NOT NULL, CHECK (pending < 1e12 AND bytes < 1e15)
    ) WITH (fillfactor = 50);`,
  ].join('\n'),

  insert: (connection, table, rows, channels) =>
    rows.length === 0 ? Promise.resolve() : sendAll(connection, [insertion(table, rows, channels)]),

  async take(connection, table) {
    const [, { rows }] = await Promise.all([
      connection.query('BEGIN'),
      connection.query<TakenRow>({
        name: `take-${table}`,
        text: taking(
          table,
          `seq = ANY(ARRAY(SELECT seq FROM ${table} ORDER BY seq LIMIT ${takenAtOnce} FOR UPDATE SKIP LOCKED))`,
        ),
      }),
    ]);
    return rows;
  },

  commit: (connection, replies, channels) =>
    sendAll(connection, [...(replies.length > 0 ? [insertion('replies', replies, channels)] : []), 'COMMIT']),

  async takeReplies(connection, client) {
    const { rows } = await connection.query<TakenRow>({
      name: 'take-replies',
      text: taking('replies', 'inbox = $1'),
      values: [client],
    });
    return rows;
  },

  tidyings: [
    'TRUNCATE pile',
    `DELETE FROM cap WHERE inbox = 'pile'`,
    ...['requests', 'replies', 'sink', 'cap'].map((table) => `VACUUM ${table}`),
  ],
};

/** A reply is for the inbox of a client. Every other message is for the inbox that is called as its table. */
function insertion(table: string, rows: readonly Row[], channels: readonly string[]): pg.QueryConfig {
  const isReply = table === 'replies';
  return {
    name: `insert-${table}`,
    text: `WITH added AS (
        INSERT INTO ${table} (inbox, sender, id, body)
        SELECT k.inbox, k.sender, k.id, k.body FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS k(inbox, sender, id, body)
        WHERE NOT EXISTS (SELECT FROM ${settledTable} s WHERE s.inbox = k.inbox AND s.sender = k.sender AND s.id = k.id)
        ON CONFLICT (inbox, sender, id) DO NOTHING RETURNING inbox, length(body) AS size
      ), counted AS (
        INSERT INTO cap AS c SELECT inbox, count(*), sum(size) FROM added GROUP BY inbox
        ON CONFLICT (inbox) DO UPDATE SET pending = c.pending + excluded.pending, bytes = c.bytes + excluded.bytes
      )
      SELECT pg_notify(channel, '') FROM unnest($1::text[]) AS channel`,
    values: [
      channels,
      rows.map(({ client }) => (isReply ? client : table)),
      rows.map(({ client }) => (isReply ? 'server' : client)),
      rows.map(({ id }) => id),
      rows.map(({ body }) => body),
    ],
  };
}

/** SQL that settles the messages of a table for which a condition holds. */
function taking(table: string, condition: string): string {
  return `WITH gone AS (
      DELETE FROM ${table} WHERE ${condition} RETURNING *
    ), kept AS (
      INSERT INTO ${settledTable} SELECT inbox, sender, id, seq, created_at, now(), length(body) FROM gone
    ), counted AS (
      UPDATE cap c SET pending = c.pending - g.messages, bytes = c.bytes - g.bytes
      FROM (SELECT inbox, count(*) AS messages, sum(length(body)) AS bytes FROM gone GROUP BY inbox) AS g WHERE c.inbox = g.inbox
    )
    SELECT sender AS client, body FROM gone`;
}
