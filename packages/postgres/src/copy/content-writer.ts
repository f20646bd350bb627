import type { AuditRow } from '@signalbox/store';
import type { ContentItems, ContentPart, LoggedMessage } from '@signalbox/store/rules';
import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Value } from '../database/statement.ts';
import { insertKept, keptValues } from '../inbox-store/kept-body-table.ts';
import {
  insertMessages,
  insertPending,
  insertSettled,
  messageValues,
  pendingValues,
  settledValues,
  textOf,
} from '../inbox-store/message-rows.ts';
import { sliceName } from '../schema.ts';

/** The name of the first slice of a new schema. */
const firstSlice = sliceName(1);

/** Writes the content of another store into the tables of a new schema, in a transaction of the caller. */
export class ContentWriter {
  readonly #transaction: Transaction;
  readonly #database: PostgresDatabase;

  constructor(transaction: Transaction, database: PostgresDatabase) {
    this.#transaction = transaction;
    this.#database = database;
  }

  async write({ kind, items }: ContentPart): Promise<void> {
    switch (kind) {
      case 'fact':
        for (const fact of items) await this.#setFact(fact);
        return;
      case 'message':
        return this.#addMessages(items);
      case 'scheduled':
        return this.#run(
          insertMessages('scheduled', [['sent_at', 'bigint']]),
          messageValues(
            items.map(({ message }) => message),
            [items.map(({ sentAt }) => sentAt)],
          ),
        );
      case 'dead_letter':
        return this.#run(
          insertMessages('dead_letter', [
            ['dead_at', 'bigint'],
            ['reason', 'text'],
          ]),
          messageValues(items, [
            items.map(({ ending }) => ending?.at ?? 0),
            items.map(({ ending }) => textOf(ending?.reason ?? null)),
          ]),
        );
      case 'kept_body':
        return this.#run(insertKept, keptValues(items, this.#database.broker, 'with words'));
      case 'request':
        return this.#addRequests(items);
      case 'journal':
        return this.#run(
          'INSERT INTO @journal SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])',
          [
            items.map(({ inbox }) => inbox),
            items.map(({ generation }) => generation),
            items.map(({ foreignUpTo }) => foreignUpTo),
            items.map(({ epoch }) => epoch),
          ],
        );
      case 'token':
        return this.#run(
          `INSERT INTO @token SELECT id, hash, created_at, record, 0, record::json->>'parentId'
           FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS k(id, hash, created_at, record)`,
          [
            items.map(({ id }) => id),
            items.map(({ hash }) => hash),
            items.map(({ createdAt }) => createdAt),
            items.map((record) => JSON.stringify(record)),
          ],
        );
      case 'hold':
        return this.#run('INSERT INTO @hold SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])', [
          items.map(({ id }) => id),
          items.map(({ createdAt }) => createdAt),
          items.map((record) => JSON.stringify(record)),
        ]);
      case 'agent':
        return this.#run(
          `INSERT INTO @known_agent (name, version) SELECT name, 0 FROM unnest($1::text[]) WITH ORDINALITY AS k(name, place) ORDER BY place`,
          [items.map(({ name }) => name)],
        );
      case 'audit_row':
        return this.#run(
          'INSERT INTO @audit SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])',
          [
            items.map((row) => row.kind),
            items.map(({ number }) => number),
            items.map(({ entry }) => entry),
            items.map(({ hash }) => hash),
            items.map(recordedAt),
          ],
        );
      case 'audit_chain':
        for (const { kind: of, dropped, last, rows, bytes } of items)
          await this.#run('INSERT INTO @audit_chain VALUES ($1, $2, $3, $4, $5, $6, $7, 0)', [
            ...[of, dropped.number, dropped.hash, last.number, last.hash, rows, bytes],
          ]);
        return;
      case 'audit_batch':
        return this.#run('INSERT INTO @audit_batch SELECT * FROM unnest($1::text[], $2::text[])', [
          items.map(({ sender }) => sender),
          items.map(({ id }) => id),
        ]);
    }
  }

  /** Writes the counts of the written content. */
  async finish(): Promise<void> {
    for (const text of derived) await this.#run(text, []);
  }

  async #setFact({ key, value }: ContentItems['fact']): Promise<void> {
    if (key === 'next_number') return this.#run(`SELECT setval('@message_seq', $1, false)`, [Number(value)]);
    return this.#run(
      'INSERT INTO @meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      [key, value],
    );
  }

  async #addMessages(messages: readonly LoggedMessage[]): Promise<void> {
    const pending = messages.filter(({ ending }) => ending === undefined);
    const settled = messages.filter(({ ending }) => ending !== undefined);
    if (pending.length > 0) await this.#run(insertPending, pendingValues(pending));
    if (settled.length > 0) await this.#run(insertSettled(firstSlice), settledValues(settled));
  }

  async #addRequests(requests: readonly ContentItems['request'][]): Promise<void> {
    await this.#run(
      `INSERT INTO @open_request SELECT seq, requester, id, inbox, open_until, is_over, string_to_array(takers, ' '), details
       FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::boolean[], $7::text[], $8::text[])
         AS k(seq, requester, id, inbox, open_until, is_over, takers, details)`,
      [
        requests.map(({ seq }) => seq),
        requests.map(({ requester }) => requester),
        requests.map(({ id }) => id),
        requests.map(({ inbox }) => inbox),
        requests.map(({ openUntil }) => openUntil),
        requests.map(({ isOver }) => isOver),
        requests.map(({ takers }) => takers.join(' ')),
        requests.map(({ thread }) => JSON.stringify({ thread })),
      ],
    );
  }

  async #run(text: string, values: readonly Value[]): Promise<void> {
    await this.#transaction.query(this.#database.unnamed(text), values);
  }
}

/** Returns the time at which a row was recorded, in epoch milliseconds. Rows are searched by it. */
function recordedAt({ entry }: AuditRow): number {
  const { at, recorded_at } = JSON.parse(entry) as { at: number; recorded_at?: number };
  return Math.floor(recorded_at ?? at);
}

const waiting = `SELECT inbox, sender, is_counted, size FROM @message UNION ALL SELECT inbox, sender, is_counted, size FROM @scheduled`;
const recipient = `split_part(inbox, '#', 1)`;

/** Statements that fill the tables of counts, and the times of the last rows of the audit log. */
const derived = [
  // Files do not tell which messages were handed out, so any of them may have been.
  `INSERT INTO @inbox (name, head_seq, taken_seq, pending, bytes, scheduled, scheduled_bytes)
   SELECT inbox, max(head_seq), max(head_seq), sum(pending), sum(bytes), sum(scheduled), sum(scheduled_bytes) FROM (
     SELECT inbox, max(seq) AS head_seq, count(*) AS pending, sum(size) AS bytes, 0 AS scheduled, 0 AS scheduled_bytes
     FROM @message GROUP BY inbox
     UNION ALL SELECT inbox, 0, 0, 0, count(*), sum(size) FROM @scheduled GROUP BY inbox
   ) AS k GROUP BY inbox`,
  `INSERT INTO @agent (name, received, received_bytes, sent, sent_bytes)
   SELECT name, sum(received), sum(received_bytes), sum(sent), sum(sent_bytes) FROM (
     SELECT ${recipient} AS name, 1 AS received, size AS received_bytes, 0 AS sent, 0 AS sent_bytes FROM (${waiting}) AS w
     UNION ALL SELECT ${recipient}, 1, size, 0, 0 FROM @dead_letter
     UNION ALL SELECT sender, 0, 0, 1, size FROM (${waiting}) AS w WHERE is_counted
     UNION ALL SELECT sender, 0, 0, 1, size FROM @dead_letter WHERE is_counted
   ) AS k GROUP BY name`,
  `INSERT INTO @sent_to (sender, recipient, messages, bytes)
   SELECT sender, ${recipient} AS recipient, count(*), sum(size) FROM (${waiting}) AS w WHERE is_counted GROUP BY sender, ${recipient}`,
  // A message that a member of a group has taken was handed out.
  `INSERT INTO @claim (inbox, seq, incarnation, was_out) SELECT inbox, seq, NULL, true FROM @message WHERE cardinality(takers) > 0`,
  `UPDATE @audit_chain c SET recorded_at = coalesce(
     (SELECT recorded_at FROM @audit a WHERE a.kind = c.kind ORDER BY number DESC LIMIT 1), 0)`,
];
