import type { CallRecordOutcome } from '@signalbox/protocol';
import type { JournalEntry, JournalRecord, ReceivedCall } from '@signalbox/store/journal';
import type { PostgresDatabase } from '../internal.ts';
import { callKey } from './journal-schema.ts';

/** The columns of a call, without its reply. */
export interface CallRow {
  agent: string;
  requestId: string;
  incarnation: number;
  details: string;
  finishedAt: number | null;
  outcome: CallRecordOutcome | null;
  isKept: boolean;
  isSettled: boolean;
  isReplyKept: boolean;
}

/** SQL for the columns of a {@link CallRow}. */
export const callColumns = `agent, request_id AS "requestId", incarnation, details, finished_at AS "finishedAt", outcome,
  is_kept AS "isKept", settled_at IS NOT NULL AS "isSettled", reply IS NOT NULL AS "isReplyKept"`;

/** SQL for the time of the database in epoch milliseconds. */
export const databaseNow = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

type Details = Pick<ReceivedCall, 'role' | 'tool' | 'thread' | 'server' | 'receivedAt' | 'startedAt'>;

/** Returns the row of a call that is written, as JSON that {@link callRecordset} reads. */
export function rowOf(call: ReceivedCall, incarnation: number, now: number | undefined) {
  const { agent, requestId, role, tool, thread, server, receivedAt, startedAt, inbox, lifetimeMs } = call;
  const details: Details = {
    role,
    tool,
    receivedAt,
    ...(thread !== undefined && { thread }),
    ...(server !== undefined && { server }),
    ...(startedAt !== undefined && { startedAt }),
  };
  return {
    ...{ agent, request_id: requestId, incarnation, inbox, now },
    details: JSON.stringify(details),
    received_at: Math.floor(receivedAt),
    started_at: startedAt === undefined ? undefined : Math.floor(startedAt),
    lifetime: Math.ceil(lifetimeMs),
  };
}

/** Returns the row of a call that has ended. */
export function endOf(end: { outcome: string; finishedAt: number; reply: string; isLate?: boolean }) {
  const { reply } = end;
  return {
    finished_at: Math.floor(end.finishedAt),
    outcome: end.outcome,
    reply,
    reply_bytes: Buffer.byteLength(reply),
    is_late: end.isLate ?? false,
  };
}

/** SQL that reads the rows of a batch from JSON. */
export const callRecordset = `json_to_recordset($1::json) AS r(n int, agent text, request_id text, incarnation bigint, inbox text,
  now bigint, details text, received_at bigint, started_at bigint, lifetime bigint, replaces bigint,
  finished_at bigint, outcome text, reply text, reply_bytes int, is_late boolean, how text)`;

/** The statements that write calls, in the order in which they are applied to a batch. */
export function callStatements(database: PostgresDatabase) {
  const now = `coalesce(r.now, ${databaseNow})`;
  const insert = `INSERT INTO @call AS c
    (agent, request_id, incarnation, inbox, details, received_at, started_at, over_at, is_kept)`;
  const rows = `WITH r AS MATERIALIZED (SELECT * FROM ${callRecordset})`;
  // Without the array, the planner would read the whole table if it was small when the statement was prepared.
  const isKey = `${callKey('c.')} = ANY (ARRAY(SELECT ${callKey('')} FROM r)) AND ${callKey('c.')} = ${callKey('r.')}`;
  const onConflict = `ON CONFLICT (${callKey('')})`;
  return {
    keep: database.statement(
      `${insert} SELECT agent, request_id, incarnation, inbox, details, received_at, NULL, ${now} + lifetime, true FROM ${callRecordset}
       ${onConflict} DO UPDATE SET is_kept = true WHERE c.finished_at IS NULL`,
    ),
    // A start by another orchestrator after the entry was read is not replaced, because the call would be made twice.
    start: database.statement(
      `${rows},
       started AS (
         ${insert} SELECT agent, request_id, incarnation, inbox, details, received_at, started_at, ${now} + lifetime, false FROM r
         ${onConflict} DO UPDATE SET incarnation = excluded.incarnation, inbox = excluded.inbox, details = excluded.details,
           received_at = excluded.received_at, started_at = excluded.started_at, over_at = excluded.over_at, finished_at = NULL,
           outcome = NULL, reply = NULL, reply_bytes = 0, settled_at = NULL
         WHERE (c.started_at IS NULL AND c.finished_at IS NULL)
           OR c.incarnation = (SELECT replaces FROM r WHERE r.agent = excluded.agent AND r.request_id = excluded.request_id)
         RETURNING agent, request_id)
       SELECT r.n FROM r JOIN started USING (agent, request_id)`,
    ),
    used: database.statement(
      `UPDATE @approval SET is_used = true WHERE number = ANY (ARRAY(
         SELECT a.number FROM ${callRecordset} CROSS JOIN LATERAL (
           SELECT number FROM @approval WHERE agent = r.agent AND request_id = r.request_id OFFSET 0) AS a))`,
    ),
    record: database.statement(
      `INSERT INTO @call (agent, request_id, incarnation, inbox, details, received_at, started_at, over_at, is_kept, finished_at, outcome,
         reply, reply_bytes)
       SELECT agent, request_id, incarnation, inbox, details, received_at, started_at, ${now} + lifetime, is_late, finished_at, outcome,
         reply, reply_bytes FROM ${callRecordset} ON CONFLICT DO NOTHING`,
    ),
    finish: database.statement(
      `${rows} UPDATE @call c SET finished_at = r.finished_at, outcome = r.outcome, reply = r.reply, reply_bytes = r.reply_bytes,
         is_kept = c.is_kept OR r.is_late
       FROM r WHERE ${isKey} AND c.finished_at IS NULL AND (c.incarnation = r.incarnation OR c.incarnation = r.replaces OR c.started_at IS NULL)`,
    ),
    settle: database.statement(
      `${rows} UPDATE @call c SET settled_at = ${now},
         is_kept = CASE WHEN r.how = 'stored' AND NOT c.is_kept THEN false ELSE c.reply IS NOT NULL END,
         reply = CASE WHEN r.how = 'stored' AND NOT c.is_kept THEN NULL ELSE c.reply END,
         reply_bytes = CASE WHEN r.how = 'stored' AND NOT c.is_kept THEN 0 ELSE c.reply_bytes END
       FROM r WHERE ${isKey}`,
    ),
  };
}

/** Returns the journal's entry for a row. */
export function entryOf(row: CallRow & { reply: string | null }): JournalEntry {
  const { finishedAt, outcome, reply, isKept } = row;
  const end = finishedAt !== null &&
    outcome !== null && { outcome, finishedAt, ...(reply !== null && { reply }) };
  return { ...callOf(row), isKept, ...(end && { end }) };
}

/** Returns the record of a call for lists. */
export function recordOf(row: CallRow): JournalRecord {
  const { finishedAt, outcome, isReplyKept } = row;
  const end = finishedAt !== null && outcome !== null && { outcome, finishedAt, isReplyKept };
  return { ...callOf(row), ...(end && { end }) };
}

function callOf({ agent, requestId, details, isSettled, finishedAt }: CallRow) {
  const call = JSON.parse(details) as Details;
  const wasStarted = call.startedAt !== undefined || finishedAt !== null;
  return { agent, requestId, ...call, isSettled, wasStarted };
}
