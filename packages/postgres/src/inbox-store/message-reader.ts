import type {
  Backlog,
  ExpiryTime,
  FoundMessage,
  HistoryPage,
  HistoryQuery,
  InboxBacklog,
  InboxStats,
  RequestKey,
  RequestState,
  StoredMessage,
  StoredMetadata,
  WaitingPage,
} from '@signalbox/store';
import {
  findRequest,
  foundMessageOf,
  hasExpired,
  inboxesOf,
  type LoggedMessage,
  PageOfHistory,
  storedMetadataOf,
} from '@signalbox/store/rules';
import { incarnationLives } from '../cluster/living-brokers.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { isGoneTable } from '../database/store-errors.ts';
import { hasIdIn, sliceName } from '../schema.ts';
import { Counts } from './counts.ts';
import {
  detailOf,
  type MessageRow,
  messageColumns,
  messageOf,
  readMessageOf,
  readMessages,
  type SettledRow,
  settledColumns,
  settledMessageOf,
} from './message-rows.ts';
import type { SettledSlices } from './settled-slices.ts';
import { WorkingSet } from './working-set.ts';

/** The number of rows that are read at once, if they are only examined. */
const rowsAtOnce = 2000;
/** The most messages that one search for expired ones finds. */
const expiredAtOnce = 1000;

/** Reads messages, and the counts of inboxes and agents, outside of transactions. */
export class MessageReader {
  readonly #database: PostgresDatabase;
  readonly #slices: SettledSlices;
  readonly #now: () => number;
  readonly #read: Statement;
  readonly #pendingById: Statement;
  readonly #forgotten: Statement;
  readonly #sentWith: Statement;
  readonly #tried: Statement;
  readonly #stats: Statement;
  readonly #waiting: Statement;
  readonly #backlogs: Statement;
  readonly #backlog: Statement;
  readonly #inboxes: Statement;
  readonly #expired: Statement;
  readonly #expiredKinds: Statement;
  /** The place at which the search for expired messages continues. */
  #expiredAfter = { expiresAt: 0, seq: 0 };

  constructor(database: PostgresDatabase, slices: SettledSlices, now: () => number) {
    this.#database = database;
    this.#slices = slices;
    this.#now = now;
    const columns = messageColumns('m');
    this.#read = database.statement(`${readMessages} ORDER BY m.seq`);
    this.#pendingById = database.statement(
      `SELECT ${columns} FROM unnest($1::text[]) AS k(inbox) JOIN @message m ON ${hasIdIn('m.', 'k.inbox', '$2')}
       WHERE $3::text IS NULL OR m.sender = $3`,
    );
    this.#forgotten = database.statement(
      `SELECT seq, inbox, open_until AS "openUntil", is_over AS "isOver", takers FROM @open_request
       WHERE inbox = ANY($1::text[]) AND id = $2 AND requester = $3 ORDER BY seq`,
    );
    this.#sentWith = database.statement(
      `SELECT ${columns} FROM @message m WHERE m.token_id = $1 ORDER BY m.seq LIMIT $2`,
    );
    this.#tried = database.statement(
      `SELECT * FROM (
         SELECT ${columns} FROM @message m WHERE m.inbox = $1 AND m.attempts > 0
         UNION SELECT ${columns} FROM @message m WHERE m.inbox = $1 AND m.seq = ANY($2::bigint[])
       ) AS tried ORDER BY seq LIMIT $3`,
    );
    this.#stats = database.statement(
      `SELECT pending, bytes, coalesce((SELECT max(seq) FROM @message WHERE inbox = $1), 0) AS "headSeq" FROM @inbox WHERE name = $1`,
    );
    const oldest = (inbox: string) =>
      `CROSS JOIN LATERAL (SELECT seq, created_at FROM @message WHERE inbox = ${inbox} ORDER BY seq LIMIT 1) AS oldest`;
    this.#waiting = database.statement(
      `SELECT a.name AS agent, i.pending, i.created_at AS "oldestAt"
       FROM (SELECT name FROM @agent WHERE name > $1 AND received > 0 ORDER BY name LIMIT $2) AS a
       LEFT JOIN LATERAL (
         SELECT pending, oldest.created_at FROM @inbox ${oldest('a.name')} WHERE name = a.name AND pending > 0
       ) AS i ON true ORDER BY a.name`,
    );
    this.#backlogs = database.statement(
      `SELECT i.name AS inbox, i.pending, i.bytes, oldest.seq AS "oldestSeq"
       FROM (SELECT * FROM @inbox WHERE name > $1 AND pending > 0 ORDER BY name LIMIT $2) AS i ${oldest('i.name')} ORDER BY i.name`,
    );
    this.#backlog = database.statement(
      `SELECT coalesce(sum(pending), 0)::bigint AS pending, coalesce(sum(scheduled), 0)::bigint AS scheduled,
         (SELECT count(*) FROM @dead_letter) AS dead,
         (SELECT oldest.created_at FROM @inbox i ${oldest('i.name')} WHERE i.pending > 0 ORDER BY oldest.seq LIMIT 1) AS "oldestAt"
       FROM @inbox`,
    );
    this.#inboxes = database.statement(
      'SELECT name FROM @inbox WHERE name > $1 AND pending > 0 ORDER BY name LIMIT $2',
    );
    this.#expired = database.statement(
      `SELECT ${columns}, coalesce((
         SELECT c.incarnation = $4 FROM @claim c JOIN @incarnation s ON s.epoch = c.incarnation AND ${incarnationLives}
         WHERE c.inbox = m.inbox AND c.seq = m.seq
       ), (
         SELECT i.incarnation = $4 OR $5 AND NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = i.incarnation AND ${incarnationLives})
         FROM @inbox i WHERE i.name = m.inbox
       )) AS "isOwn" FROM @message m WHERE m.expires_at <= $1 AND (m.expires_at, m.seq + 0) > ($2, $3)
       ORDER BY m.expires_at, m.seq + 0 LIMIT ${expiredAtOnce}`,
    );
    this.#expiredKinds = database.statement(
      `SELECT kind, created_at AS "createdAt", expires_at AS "expiresAt", seq FROM @message
       WHERE expires_at <= $1 AND (expires_at, seq + 0) > ($2, $3) ORDER BY expires_at, seq + 0 LIMIT ${rowsAtOnce}`,
    );
  }

  async read(inbox: string, afterSeq: number, limit: number, maxBytes: number): Promise<StoredMessage[]> {
    if (limit <= 0) return [];
    const values = [inbox, afterSeq, limit, Math.floor(maxBytes)];
    const rows = await this.#database.read<MessageRow>(this.#read, values);
    return rows.map(readMessageOf);
  }

  async find(inbox: string, sender: string, id: string): Promise<FoundMessage | undefined> {
    const found = await this.#withId([inbox], id, sender);
    return found[0] && foundMessageOf(found[0]);
  }

  /** Returns the pending message of each sender, or else the newest one. */
  async findOfAnySender(inbox: string, id: string, limit: number): Promise<FoundMessage[]> {
    const found = await this.#withId([inbox], id, undefined);
    const bySender = new Map<string, LoggedMessage>();
    for (const message of found)
      if (!bySender.has(message.shared.sender)) bySender.set(message.shared.sender, message);
    return [...bySender.values()].slice(0, limit).map(foundMessageOf);
  }

  async requestState(request: RequestKey): Promise<RequestState> {
    const inboxes = [...inboxesOf(request)];
    const messages = await this.#withId(inboxes, request.id, request.requester);
    const set = new WorkingSet(new Counts(), this.#now);
    for (const message of messages) set.load(message, message.ending ? 0 : 'pending', false);
    if (messages.length === 0)
      for (const row of await this.#database.read<ForgottenRow>(this.#forgotten, [
        inboxes,
        request.id,
        request.requester,
      ]))
        set.loadForgotten(request.requester, request.id, row.inbox, { ...row, thread: undefined });
    const found = findRequest(set, request, undefined, this.#now);
    if (!found) return 'unknown';
    return found.isOpen ? 'open' : 'over';
  }

  async sentWith(tokenId: string, limit: number): Promise<StoredMetadata[]> {
    return this.#metadata(this.#sentWith, [tokenId, Math.max(limit, 0)]);
  }

  async tried(inbox: string, seqs: readonly number[], limit: number): Promise<StoredMetadata[]> {
    return this.#metadata(this.#tried, [inbox, seqs, limit]);
  }

  async stats(inbox: string): Promise<InboxStats> {
    const [row] = await this.#database.read<InboxStats>(this.#stats, [inbox]);
    return row ?? { pending: 0, bytes: 0, headSeq: 0 };
  }

  async waiting(after: string, limit: number): Promise<WaitingPage> {
    type Row = { agent: string; pending: number | null; oldestAt: number | null };
    const rows = await this.#database.read<Row>(this.#waiting, [after, limit + 1]);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const agents = page.flatMap(({ agent, pending, oldestAt }) =>
      pending === null || oldestAt === null ? [] : [{ agent, pending, oldestAt }],
    );
    return { agents, ...(rows.length > limit && last && { cursor: last.agent }) };
  }

  async inboxBacklogs(after: string, limit: number): Promise<InboxBacklog[]> {
    return this.#database.read<InboxBacklog>(this.#backlogs, [after, limit]);
  }

  async backlog(): Promise<Backlog> {
    const [row] = await this.#database.readLong<Backlog & { oldestAt: number | null }>(this.#backlog);
    const { oldestAt, ...counts } = row!;
    return { ...counts, ...(oldestAt !== null && { oldestAt }) };
  }

  async inboxes(after: string, limit: number): Promise<string[]> {
    const rows = await this.#database.read<{ name: string }>(this.#inboxes, [after, limit]);
    return rows.map(({ name }) => name);
  }

  /**
   * Returns some expired messages in inboxes that this broker holds and, if it keeps house, in those that nobody holds. Repeated calls
   * return all of them.
   */
  async expired(time: ExpiryTime, keepsHouse: boolean): Promise<StoredMetadata[]> {
    const { expiresAt, seq } = this.#expiredAfter;
    const values = [Math.floor(time.latest), expiresAt, seq, this.#database.epoch, keepsHouse];
    const rows = await this.#database.read<MessageRow & { isOwn: boolean }>(this.#expired, values);
    this.#expiredAfter = rows.length < expiredAtOnce ? { expiresAt: 0, seq: 0 } : rows.at(-1)!;
    return rows
      .filter((row) => row.isOwn && hasExpired(row, time))
      .map((row) => storedMetadataOf(messageOf(row)));
  }

  async countExpired(time: ExpiryTime): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    let after = { expiresAt: 0, seq: 0 };
    for (;;) {
      const values = [Math.floor(time.latest), after.expiresAt, after.seq];
      type Row = { kind: string; createdAt: number; expiresAt: number; seq: number };
      const rows = await this.#database.readLong<Row>(this.#expiredKinds, values);
      for (const row of rows) if (hasExpired(row, time)) counts[row.kind] = (counts[row.kind] ?? 0) + 1;
      if (rows.length < rowsAtOnce) return counts;
      after = rows.at(-1)!;
    }
  }

  /** Reads pending messages before settled ones. So one that is settled meanwhile comes once or twice, and the later one counts. */
  async history(query: HistoryQuery): Promise<HistoryPage> {
    const page = new PageOfHistory(query);
    await this.#scan<MessageRow>(query, page, 'message', messageColumns('m'), messageOf);
    const { slices } = await this.#slices.refresh();
    for (const { number, endedAt } of slices) {
      if (endedAt !== null && endedAt < query.since) continue;
      try {
        await this.#scan<SettledRow>(query, page, sliceName(number), settledColumns('m'), settledMessageOf);
      } catch (thrown) {
        // The messages of a slice that was dropped meanwhile are forgotten.
        if (!isGoneTable(thrown)) throw thrown;
      }
    }
    return page.result();
  }

  /** Adds the messages of one table that a page may need to it, in its order, until it has enough. */
  async #scan<Row extends { createdAt: number; seq: number }>(
    query: HistoryQuery,
    page: PageOfHistory,
    table: string,
    columns: string,
    toMessage: (row: Row) => LoggedMessage,
  ): Promise<void> {
    const [order, beyond] = query.newestFirst ? ['DESC', '<'] : ['ASC', '>'];
    const text = `SELECT ${columns} FROM @${table} m
      WHERE m.created_at >= $1 AND m.created_at < $2 AND (m.created_at, m.seq) ${beyond} ($3, $4)
        AND ($5::text IS NULL OR m.sender = $5 OR m.inbox = $5 OR m.inbox LIKE $6)
        AND ($7::text IS NULL OR m.id = $7 OR position($8 IN m.details) > 0)
      ORDER BY m.created_at ${order}, m.seq ${order} LIMIT ${rowsAtOnce}`;
    const statement = this.#database.unnamed(text);
    const { since, until = Number.MAX_SAFE_INTEGER, agent = null, correlationId = null } = query;
    const ends = [Math.ceil(since), Math.ceil(until)];
    const agents = [agent, agent === null ? null : `${agent.replaceAll('_', '\\_')}#%`];
    const correlation = [
      correlationId,
      correlationId === null ? null : detailOf('correlation', correlationId),
    ];
    let from =
      page.from ??
      (query.newestFirst ? { createdAt: Number.MAX_SAFE_INTEGER, seq: 0 } : { createdAt: -1, seq: 0 });
    let wanted = 0;
    for (;;) {
      const values = [...ends, from.createdAt, from.seq, ...agents, ...correlation];
      const rows = await this.#database.readLong<Row>(statement, values);
      for (const row of rows) if (page.consider(toMessage(row))) wanted++;
      if (rows.length < rowsAtOnce || wanted > query.limit) return;
      from = rows.at(-1)!;
    }
  }

  /**
   * Returns the messages with an id in some inboxes, of one sender or of any: pending ones first, and then the newest ones first. Pending
   * ones are read first, so that one that is settled meanwhile is found.
   */
  async #withId(
    inboxes: readonly string[],
    id: string,
    sender: string | undefined,
  ): Promise<LoggedMessage[]> {
    const values = [inboxes, id, sender ?? null];
    const pending = await this.#database.read<MessageRow>(this.#pendingById, values);
    const settled = await this.#slices.reading((slices) =>
      this.#database.read<SettledRow>(slices.byIdOfAny, values),
    );
    const found = settled.map(settledMessageOf).sort((a, b) => b.seq - a.seq);
    return [...pending.map(messageOf), ...found];
  }

  async #metadata(
    statement: Statement,
    values: Parameters<PostgresDatabase['read']>[1],
  ): Promise<StoredMetadata[]> {
    const rows = await this.#database.read<MessageRow>(statement, values);
    return rows.map((row) => storedMetadataOf(messageOf(row)));
  }
}

type ForgottenRow = { seq: number; inbox: string; openUntil: number; isOver: boolean; takers: string[] };
