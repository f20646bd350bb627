import type { GroupFields, NewMessage, Outcome, StoredMessage } from '@signalbox/store';
import { type Ending, type LoggedMessage, storedMessageOf } from '@signalbox/store/rules';
import type { Value } from '../database/statement.ts';

/** The fields of a message that no query searches, as JSON, which can also represent characters that PostgreSQL's text can't. */
interface Details {
  /** The address of the sender, if it is not its agent id. */
  from?: string | undefined;
  role: string;
  correlation?: string | undefined;
  trace?: string | undefined;
  thread?: string | undefined;
  group?: GroupFields | undefined;
}

/** A row of a table of messages. */
export interface MessageRow {
  inbox: string;
  seq: number;
  id: string;
  sender: string;
  kind: string;
  tokenId: string | null;
  isCounted: boolean;
  createdAt: number;
  expiresAt: number;
  openUntil: number | null;
  size: number;
  attempts: number;
  answered: boolean;
  takers: string[] | null;
  details: string;
  /** Absent if it was not read. */
  body?: Buffer | null;
  isCancelled?: boolean;
}

/** A row of a slice, which has no body. */
export interface SettledRow extends Omit<MessageRow, 'tokenId' | 'isCounted' | 'attempts' | 'body'> {
  settledAt: number;
  outcome: Outcome;
  reason: string | null;
}

/** SQL for the columns of {@link MessageRow} but the body, of the table with this alias. */
export function messageColumns(alias: string): string {
  return `${alias}.inbox, ${alias}.seq, ${alias}.id, ${alias}.sender, ${alias}.kind, ${alias}.token_id AS "tokenId",
    ${alias}.is_counted AS "isCounted", ${alias}.created_at AS "createdAt", ${alias}.expires_at AS "expiresAt",
    ${alias}.open_until AS "openUntil", ${alias}.size, ${alias}.attempts, ${alias}.answered, ${alias}.takers, ${alias}.details`;
}

/** SQL for the columns of {@link SettledRow}. */
export function settledColumns(alias: string): string {
  return `${alias}.inbox, ${alias}.seq, ${alias}.id, ${alias}.sender, ${alias}.kind, ${alias}.created_at AS "createdAt",
    ${alias}.expires_at AS "expiresAt", ${alias}.open_until AS "openUntil", ${alias}.size, ${alias}.answered, ${alias}.takers,
    ${alias}.details, ${alias}.settled_at AS "settledAt", ${alias}.outcome, ${alias}.reason`;
}

/**
 * SQL for the messages of an inbox after a number, given both, the most messages and the most bytes. The last one is found first. A join of
 * both would read the whole inbox for each message if it was planned for an empty table.
 */
export const readMessages = `SELECT ${messageColumns('m')}, m.is_cancelled AS "isCancelled", m.body FROM @message m
  WHERE m.inbox = $1 AND m.seq > $2 AND m.seq <= (
    SELECT max(seq) FROM (
      SELECT seq, sum(size) OVER (ORDER BY seq) AS upto, row_number() OVER (ORDER BY seq) AS place
      FROM (SELECT seq, size FROM @message WHERE inbox = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS next
    ) AS k WHERE k.upto <= $4::bigint OR k.place = 1
  )`;

/** Returns the message of a row. A body that was not read is empty, so that it doesn't count as lost. */
export function messageOf(row: MessageRow): LoggedMessage {
  const { body } = row;
  return { ...contentOf(row), body: body === null ? undefined : (body?.toString() ?? ''), ending: undefined };
}

/** Returns the message of a row, for a consumer. */
export function readMessageOf(row: MessageRow): StoredMessage {
  const message = storedMessageOf(messageOf(row));
  return row.isCancelled ? { ...message, cancelled: true } : message;
}

/** Returns the settled message of a row of a slice. */
export function settledMessageOf({ settledAt, outcome, reason, ...row }: SettledRow): LoggedMessage {
  const ending: Ending = { at: settledAt, outcome, reason };
  const content = contentOf({ ...row, tokenId: null, isCounted: false, attempts: 0 });
  return { ...content, body: undefined, ending };
}

function contentOf(row: Omit<MessageRow, 'body'>): Omit<LoggedMessage, 'body' | 'ending'> {
  const { inbox, seq, id, sender, kind, createdAt, expiresAt, size, attempts, answered, isCounted } = row;
  const { from, role, correlation, trace, thread, group } = JSON.parse(row.details) as Details;
  return {
    seq,
    shared: {
      inbox,
      sender,
      senderAddress: from ?? sender,
      senderRole: role,
      tokenId: row.tokenId ?? undefined,
      kind,
      createdAt,
      expiresAt,
      openUntil: row.openUntil ?? undefined,
      isCounted,
    },
    id,
    correlationId: correlation,
    traceparent: trace,
    group,
    thread,
    size,
    attempts,
    answered,
    takers: row.takers ?? undefined,
  };
}

/** Returns the JSON of the fields of a message that no query searches. */
export function detailsOf(message: {
  sender: string;
  senderAddress: string;
  senderRole: string;
  content: Pick<NewMessage, 'correlationId' | 'traceparent' | 'thread' | 'group'>;
}): string {
  const { sender, senderAddress, senderRole, content } = message;
  const details: Details = {
    from: senderAddress === sender ? undefined : senderAddress,
    role: senderRole,
    correlation: content.correlationId,
    trace: content.traceparent,
    thread: content.thread,
    group: content.group,
  };
  return JSON.stringify(details);
}

/** Returns the text of a field with a value in the JSON of a message. */
export function detailOf(field: keyof Details, value: string): string {
  return JSON.stringify({ [field]: value }).slice(1, -1);
}

/** Returns a text without NUL, which PostgreSQL's text can't hold. */
export function textOf(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\0', '\ufffd');
}

/** SQL for an INSERT of messages into a table, given {@link messageValues}. The values of further columns follow those. */
export function insertMessages(table: string, more: readonly [column: string, type: string][] = []): string {
  const columns = [
    ...'inbox seq id sender kind token_id is_counted created_at expires_at open_until size attempts answered'.split(
      ' ',
    ),
    ...['details', 'body', ...more.map(([column]) => column)],
  ].join(', ');
  const own = more.map(([, type], n) => `, $${17 + n}::${type}[]`).join('');
  return `INSERT INTO @${table} (${columns}, takers)
    SELECT ${columns}, string_to_array(takers, ' ')
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::bigint[], $9::bigint[],
      $10::bigint[], $11::int[], $12::int[], $13::boolean[], $14::text[], $15::bytea[]${own}, $16::text[])
      AS k(${columns}, takers)`;
}

/** Returns the values of {@link insertMessages}. */
export function messageValues(
  messages: readonly LoggedMessage[],
  more: readonly (readonly (string | number | null)[])[] = [],
): Value[] {
  const all = <T>(of: (message: LoggedMessage) => T): T[] => messages.map(of);
  return [
    all(({ shared }) => shared.inbox),
    all(({ seq }) => seq),
    all(({ id }) => id),
    all(({ shared }) => shared.sender),
    all(({ shared }) => shared.kind),
    all(({ shared }) => shared.tokenId ?? null),
    all(({ shared }) => shared.isCounted),
    all(({ shared }) => shared.createdAt),
    all(({ shared }) => shared.expiresAt),
    all(({ shared }) => shared.openUntil ?? null),
    all(({ size }) => size),
    all(({ attempts }) => attempts),
    all(({ answered }) => answered),
    all(detailsOfLogged),
    all(({ body }) => body ?? null),
    all(({ takers }) => takers?.join(' ') ?? null),
    ...more,
  ];
}

/** SQL for an INSERT of pending messages, given {@link pendingValues}. */
export const insertPending = insertMessages('message', [['group_key', 'text']]);

/** Returns the values of {@link insertPending}. */
export function pendingValues(messages: readonly LoggedMessage[]): Value[] {
  return messageValues(messages, [messages.map(({ group }) => group?.key ?? null)]);
}

/** SQL for an INSERT of settled messages into a slice, given {@link settledValues}. */
export function insertSettled(table: string): string {
  return `INSERT INTO @${table} SELECT inbox, seq, id, sender, kind, created_at, expires_at, open_until, size, answered,
      string_to_array(takers, ' '), details, settled_at, outcome, reason
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::int[],
      $10::boolean[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::text[])
      AS k(inbox, seq, id, sender, kind, created_at, expires_at, open_until, size, answered, takers, details, settled_at, outcome, reason)`;
}

/** Returns the values of {@link insertSettled}. */
export function settledValues(messages: readonly LoggedMessage[]): Value[] {
  const all = <T>(of: (message: LoggedMessage) => T): T[] => messages.map(of);
  return [
    all(({ shared }) => shared.inbox),
    all(({ seq }) => seq),
    all(({ id }) => id),
    all(({ shared }) => shared.sender),
    all(({ shared }) => shared.kind),
    all(({ shared }) => shared.createdAt),
    all(({ shared }) => shared.expiresAt),
    all(({ shared }) => shared.openUntil ?? null),
    all(({ size }) => size),
    all(({ answered }) => answered),
    all(({ takers }) => takers?.join(' ') ?? null),
    all(detailsOfLogged),
    all(({ ending }) => ending?.at ?? 0),
    all(({ ending }) => ending?.outcome ?? 'acked'),
    all(({ ending }) => textOf(ending?.reason ?? null)),
  ];
}

function detailsOfLogged({ shared, ...content }: LoggedMessage): string {
  const { sender, senderAddress, senderRole } = shared;
  return detailsOf({ sender, senderAddress, senderRole, content });
}
