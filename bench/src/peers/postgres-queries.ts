import type { QueryConfig } from 'pg';

const takenAtOnce = 256;

/** The texts are random, so compressing large ones would be wasted work. */
export const tables = ['requests', 'sink', 'pile', 'replies']
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

/** Nobody listens for the pile. */
export function insertMessages(table: string, client: string, bodies: string[]): QueryConfig {
  const insert = `INSERT INTO ${table} (client, body) SELECT $1, unnest($2::text[])`;
  return {
    name: `insert-${table}`,
    text: table === 'pile' ? insert : `WITH inserted AS (${insert}) SELECT pg_notify('${table}', '')`,
    values: [client, bodies],
  };
}

export function insertReplies(replies: { client: string; body: string }[], clients: string[]): QueryConfig {
  return {
    name: 'insert-replies',
    text: `WITH inserted AS (INSERT INTO replies (client, body) SELECT * FROM unnest($1::text[], $2::text[]))
      SELECT pg_notify('replies_' || client, '') FROM unnest($3::text[]) AS client`,
    values: [replies.map(({ client }) => client), replies.map(({ body }) => body), clients],
  };
}

export function takeMessages(table: string): QueryConfig {
  return {
    name: `take-${table}`,
    text: `DELETE FROM ${table} WHERE id = ANY(ARRAY(
        SELECT id FROM ${table} ORDER BY id LIMIT ${takenAtOnce} FOR UPDATE SKIP LOCKED
      )) RETURNING client, body`,
  };
}

/** A client's replies have one reader; its commit is the ack. */
export function takeReplies(client: string): QueryConfig {
  return {
    name: 'take-replies',
    text: 'DELETE FROM replies WHERE client = $1 RETURNING body',
    values: [client],
  };
}
