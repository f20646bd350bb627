import type { AuditChain, AuditRow, HoldRecord, TokenRecord } from '@signalbox/store';
import type { ContentItems, ContentPart, LoggedMessage } from '@signalbox/store/rules';
import { type ChainRow, chainColumns, chainOf } from '../audit-chains.ts';
import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import { type KeptRow, keptBodyOf, keptColumns } from '../inbox-store/kept-body-table.ts';
import {
  type MessageRow,
  messageColumns,
  messageOf,
  type SettledRow,
  settledColumns,
  settledMessageOf,
} from '../inbox-store/message-rows.ts';
import { sliceName } from '../schema.ts';

const rowsAtOnce = 1000;

/** The bytes of the SHA-256 of a body in hex, in place of the body. */
const bodyHash = `convert_to(encode(sha256(m.body), 'hex'), 'UTF8') AS body`;

/**
 * Reads everything in the tables of a schema, in parts that fit into memory. Messages have the SHA-256 of their bodies in place of the
 * bodies.
 */
export async function* postgresContent(
  transaction: Transaction,
  database: PostgresDatabase,
): AsyncIterable<ContentPart> {
  async function* rows<Row extends object>(text: string): AsyncIterable<Row[]> {
    await transaction.query(database.unnamed(`DECLARE content NO SCROLL CURSOR FOR ${text}`));
    for (;;) {
      const page = await transaction.query<Row>(database.unnamed(`FETCH ${rowsAtOnce} FROM content`));
      if (page.length > 0) yield page;
      if (page.length < rowsAtOnce) break;
    }
    await transaction.query(database.unnamed('CLOSE content'));
  }
  for await (const items of rows<ContentItems['fact']>(
    `SELECT key, value FROM @meta WHERE key IN ('identity', 'time', 'restored_at')
     UNION ALL SELECT 'next_number', last_value::text FROM @message_seq`,
  ))
    yield { kind: 'fact', items };
  for await (const page of rows<MessageRow>(`SELECT ${messageColumns('m')}, ${bodyHash} FROM @message m`))
    yield { kind: 'message', items: page.map(messageOf) };
  for await (const page of rows<SettledRow>(`SELECT ${settledColumns('m')} FROM @${sliceName(1)} m`))
    yield { kind: 'message', items: page.map(settledMessageOf) };
  for await (const page of rows<MessageRow & { sentAt: number }>(
    `SELECT ${messageColumns('m')}, ${bodyHash}, m.sent_at AS "sentAt" FROM @scheduled m`,
  ))
    yield {
      kind: 'scheduled',
      items: page.map(({ sentAt, ...row }) => ({ message: messageOf(row), sentAt })),
    };
  for await (const page of rows<MessageRow & { deadAt: number; reason: string | null }>(
    `SELECT ${messageColumns('m')}, ${bodyHash}, m.dead_at AS "deadAt", m.reason FROM @dead_letter m`,
  ))
    yield { kind: 'dead_letter', items: page.map(deadMessageOf) };
  for await (const page of rows<KeptRow & { body: Buffer }>(
    `SELECT ${keptColumns}, ${bodyHash} FROM @kept_body m`,
  ))
    yield { kind: 'kept_body', items: page.map(({ body, ...row }) => keptBodyOf(row, body)) };
  for await (const page of rows<Omit<ContentItems['request'], 'thread'> & { details: string }>(
    'SELECT seq, requester, id, inbox, open_until AS "openUntil", is_over AS "isOver", takers, details FROM @open_request',
  ))
    yield {
      kind: 'request',
      items: page.map(({ details, ...request }) => {
        const { thread } = JSON.parse(details) as { thread?: string };
        return { ...request, thread };
      }),
    };
  for await (const items of rows<ContentItems['journal']>(
    'SELECT inbox, generation, foreign_up_to AS "foreignUpTo", epoch FROM @journal',
  ))
    yield { kind: 'journal', items };
  for await (const page of rows<{ record: string }>('SELECT record FROM @token'))
    yield { kind: 'token', items: page.map(({ record }) => JSON.parse(record) as TokenRecord) };
  for await (const page of rows<{ record: string }>('SELECT record FROM @hold'))
    yield { kind: 'hold', items: page.map(({ record }) => JSON.parse(record) as HoldRecord) };
  for await (const items of rows<{ name: string }>('SELECT name FROM @known_agent'))
    yield { kind: 'agent', items };
  for await (const items of rows<AuditRow>('SELECT kind, number, entry, hash FROM @audit'))
    yield { kind: 'audit_row', items };
  for await (const page of rows<ChainRow>(`SELECT ${chainColumns} FROM @audit_chain`))
    yield {
      kind: 'audit_chain',
      items: page.map(chainOf).map(({ recordedAt: _, ...chain }): AuditChain => chain),
    };
  for await (const items of rows<{ sender: string; id: string }>('SELECT sender, id FROM @audit_batch'))
    yield { kind: 'audit_batch', items };
}

function deadMessageOf({
  deadAt,
  reason,
  ...row
}: MessageRow & { deadAt: number; reason: string | null }): LoggedMessage {
  return { ...messageOf(row), ending: { at: deadAt, outcome: 'dead', reason } };
}
