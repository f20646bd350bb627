import type { CallRecordOutcome } from '@signalbox/protocol';
import type { Database, Statement } from 'better-sqlite3';
import type { CallKey } from '../../journal/call-key.ts';
import type {
  CallEnd,
  JournalEntry,
  JournalQuery,
  JournalRecord,
  OwnCallsQuery,
  ReceivedCall,
  SettledHow,
  StartedCall,
} from '../../journal/journal.ts';
import { rowChecksum } from '../row-checksum.ts';

/**
 * The limits for settled calls: a settled call is kept as long as all three allow. A call that is not settled is always kept. Calls whose
 * replies are kept for their requesters have {@link KeptReplyLimits} instead.
 */
export interface JournalRetention {
  /** The longest time since the request was settled, in milliseconds during which a journal was open. */
  maxAgeMs: number;
  maxRows: number;
  /** The most bytes of all stored replies together. */
  maxBytes: number;
}

interface CallRow {
  agent: string;
  requestId: string;
  role: string;
  tool: string;
  thread: string | null;
  server: string | null;
  receivedAt: number;
  startedAt: number | null;
  inbox: string;
  overAt: number;
  finishedAt: number | null;
  outcome: CallRecordOutcome | null;
  startChecksum: number;
  endChecksum: number | null;
  isSettled: number;
}

interface Row extends CallRow {
  reply: string | null;
  replyChecksum: number | null;
  isKept: number;
}

interface ListedRow extends CallRow {
  isReplyKept: number;
}

/** All columns of a call except its reply. */
const callColumns = `agent, request_id AS requestId, role, tool, thread, server, received_at AS receivedAt,
  started_at AS startedAt, inbox, over_at AS overAt, finished_at AS finishedAt, outcome,
  start_checksum AS startChecksum, end_checksum AS endChecksum, settled_at IS NOT NULL AS isSettled`;

/** The most rows of one housekeeping step, which must not hold up calls for long. */
const pruneBatch = 500;
const replyBatch = 16;

/** Reads and writes the table of calls. The caller provides the transactions. */
export class CallTable {
  readonly #find: Statement<[string, string], Row>;
  readonly #list: Statement<[number, number], ListedRow>;
  readonly #findListed: Statement<[string, string], ListedRow>;
  readonly #listKept: Statement<[string], ListedRow>;
  readonly #all: Statement<[], CallRow>;
  readonly #keep: Statement<(string | number | null)[]>;
  readonly #start: Statement<(string | number | null)[]>;
  readonly #record: Statement<(string | number | null)[]>;
  readonly #finish: Statement<(string | number)[]>;
  readonly #settleDelivered: Statement<[number, string, string]>;
  readonly #settleKept: Statement<[number, string, string], number>;
  readonly #size: Statement<[], { rows: number; bytes: number }>;
  readonly #deleteSettled: Statement<[before: number, limit: number]>;
  readonly #inDoubt: Statement<[string, number, number, number], CallKey & { number: number }>;
  readonly #deleteReplies: Statement<[before: number, limit: number]>;

  constructor(db: Database) {
    this.#find = db.prepare(
      `SELECT ${callColumns}, reply, reply_checksum AS replyChecksum, is_kept AS isKept
       FROM call WHERE agent = ? AND request_id = ?`,
    );
    const listed = `SELECT ${callColumns}, reply IS NOT NULL AS isReplyKept FROM call`;
    this.#list = db.prepare(`${listed} WHERE received_at >= ? ORDER BY received_at DESC LIMIT ?`);
    this.#findListed = db.prepare(`${listed} WHERE agent = ? AND request_id = ?`);
    this.#listKept = db.prepare(
      `${listed} WHERE is_kept = 1 AND settled_at IS NOT NULL AND agent = ? ORDER BY settled_at DESC`,
    );
    this.#all = db.prepare(`SELECT ${callColumns} FROM call NOT INDEXED`);
    const insert = (isKept: 0 | 1) => `INSERT INTO call
         (agent, request_id, role, tool, thread, server, received_at, started_at, inbox, over_at, start_checksum, is_kept)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${isKept}) ON CONFLICT DO UPDATE`;
    this.#keep = db.prepare(`${insert(1)} SET is_kept = 1 WHERE finished_at IS NULL`);
    this.#start = db.prepare(
      `${insert(0)} SET role = excluded.role, tool = excluded.tool, thread = excluded.thread, server = excluded.server,
         received_at = excluded.received_at, started_at = excluded.started_at, inbox = excluded.inbox,
         over_at = excluded.over_at, start_checksum = excluded.start_checksum, finished_at = NULL, outcome = NULL,
         settled_at = NULL, reply_bytes = 0, reply = NULL, end_checksum = NULL, reply_checksum = NULL`,
    );
    this.#record = db.prepare(
      `INSERT INTO call
         (agent, request_id, role, tool, thread, server, received_at, started_at, inbox, over_at, start_checksum,
          finished_at, outcome, reply, reply_bytes, is_kept, end_checksum, reply_checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    );
    this.#finish = db.prepare(
      `UPDATE call
       SET finished_at = ?, outcome = ?, reply = ?, reply_bytes = ?, is_kept = MAX(is_kept, ?), end_checksum = ?, reply_checksum = ?
       WHERE agent = ? AND request_id = ? AND finished_at IS NULL`,
    );
    this.#settleDelivered = db.prepare(
      `UPDATE call SET settled_at = ?, reply = NULL, reply_bytes = 0
       WHERE agent = ? AND request_id = ? AND is_kept = 0`,
    );
    this.#settleKept = db
      .prepare<[number, string, string], number>(
        `UPDATE call SET settled_at = ?, is_kept = reply IS NOT NULL
         WHERE agent = ? AND request_id = ? RETURNING reply_bytes`,
      )
      .pluck();
    this.#size = db.prepare(
      'SELECT COUNT(*) AS rows, COALESCE(SUM(reply_bytes), 0) AS bytes FROM call WHERE is_kept = 0',
    );
    this.#deleteSettled = db.prepare(
      `DELETE FROM call WHERE rowid IN
         (SELECT rowid FROM call WHERE is_kept = 0 AND settled_at <= ? ORDER BY settled_at LIMIT ?)`,
    );
    this.#inDoubt = db.prepare(
      `SELECT rowid AS number, agent, request_id AS requestId FROM call
       WHERE settled_at IS NULL AND inbox = ? AND rowid > ? AND over_at <= ? ORDER BY rowid LIMIT ?`,
    );
    this.#deleteReplies = db.prepare(
      `UPDATE call SET reply = NULL, reply_bytes = 0 WHERE rowid IN
         (SELECT rowid FROM call WHERE is_kept = 0 AND settled_at <= ? AND reply_bytes > 0
          ORDER BY settled_at LIMIT ?)`,
    );
  }

  find({ agent, requestId }: CallKey): JournalEntry | undefined {
    const row = this.#find.get(agent, requestId);
    return row && toEntry(row);
  }

  list({ since = 0, limit }: JournalQuery): JournalRecord[] {
    return this.#list.all(since, limit).map(toRecord);
  }

  /** Lists the calls of an agent that have these ids, and those whose replies are kept. */
  listOf(
    agent: string,
    ids: readonly string[],
    { since = 0, limit, isListed = () => true }: OwnCallsQuery,
  ): JournalRecord[] {
    const calls = new Map<string, JournalRecord>();
    const take = (row: ListedRow | undefined): void => {
      const call = row && toRecord(row);
      if (call && call.receivedAt >= since && isListed(call)) calls.set(call.requestId, call);
    };
    for (const row of this.#listKept.iterate(agent)) {
      take(row);
      if (calls.size === limit) break;
    }
    for (const id of ids) take(this.#findListed.get(agent, id));
    return [...calls.values()].sort((a, b) => b.receivedAt - a.receivedAt).slice(0, limit);
  }

  /** Writes the start of a call. `now` is in running milliseconds, here and below. */
  start(call: StartedCall, now: number): void {
    this.#start.run(...startValues(call, now));
  }

  keep(call: ReceivedCall, now: number): void {
    const { startedAt: _ofTheRun, ...unstarted } = call;
    this.#keep.run(...startValues(unstarted, now));
  }

  record(call: ReceivedCall, end: CallEnd, now: number): void {
    const { finishedAt, outcome, reply, isLate = false } = end;
    const bytes = Buffer.byteLength(reply);
    const checksums = [rowChecksum(finishedAt, outcome), rowChecksum(reply)] as const;
    this.#record.run(
      ...startValues(call, now),
      ...[finishedAt, outcome, reply, bytes, isLate ? 1 : 0, ...checksums],
    );
  }

  finish({ agent, requestId }: CallKey, { outcome, finishedAt, reply, isLate = false }: CallEnd): void {
    const bytes = Buffer.byteLength(reply);
    const checksums = [rowChecksum(finishedAt, outcome), rowChecksum(reply)] as const;
    this.#finish.run(finishedAt, outcome, reply, bytes, isLate ? 1 : 0, ...checksums, agent, requestId);
  }

  /** Writes that a request is settled. Returns the bytes of the reply if it is kept. */
  settle({ agent, requestId }: CallKey, how: SettledHow, now: number): number {
    if (how === 'stored' && this.#settleDelivered.run(now, agent, requestId).changes > 0) return 0;
    return this.#settleKept.get(now, agent, requestId) ?? 0;
  }

  /** Lists calls of an inbox that are not settled although their lifetime is over, after a number. */
  inDoubt(inbox: string, after: number, now: number, limit: number): (CallKey & { number: number })[] {
    return this.#inDoubt.all(inbox, after, now, limit);
  }

  /**
   * Reads all calls without their replies, in the order of their starts. Returns the number of rows that are damaged, or that their keys do
   * not find.
   */
  countDamaged(onCall: (key: CallKey) => void = () => {}): number {
    let damaged = 0;
    for (const row of this.#all.iterate()) {
      onCall(row);
      const isFound = row.isSettled || this.#find.get(row.agent, row.requestId) !== undefined;
      if (!isFound || !isStartSound(row) || !isEndSound(row)) damaged++;
    }
    return damaged;
  }

  /**
   * Deletes one small batch of old calls or replies; all of them are settled, and none is kept. Returns true if there may be more to
   * delete.
   */
  prune({ maxAgeMs, maxRows, maxBytes }: JournalRetention, now: number): boolean {
    const { rows, bytes } = this.#size.get()!;
    const over = rows > maxRows ? Math.min(pruneBatch, rows - maxRows) : 0;
    if (over > 0 && this.#deleteSettled.run(now, over).changes === over) return true;
    if (bytes > maxBytes && this.#deleteReplies.run(now, replyBatch).changes === replyBatch) return true;
    return this.#deleteSettled.run(now - maxAgeMs, pruneBatch).changes === pruneBatch;
  }
}

function startValues(call: ReceivedCall, now: number): (string | number | null)[] {
  const {
    agent,
    requestId,
    role,
    tool,
    thread = null,
    server = null,
    receivedAt,
    startedAt = null,
    inbox,
    lifetimeMs,
  } = call;
  const overAt = Math.ceil(now + lifetimeMs);
  const values = [agent, requestId, role, tool, thread, server, receivedAt, startedAt, inbox, overAt];
  return [...values, rowChecksum(...values)];
}

/** Converts a row to its entry. A damaged row loses its end: then its outcome is unknown, and the call is not made again. */
function toEntry(row: Row): JournalEntry {
  const { finishedAt, outcome, reply, replyChecksum, isKept } = row;
  const isReplySound = reply === null || replyChecksum === rowChecksum(reply);
  const hasEnd =
    isStartSound(row) && isEndSound(row) && isReplySound && finishedAt !== null && outcome !== null;
  const end = hasEnd && { outcome, finishedAt, ...(reply !== null && { reply }) };
  return { ...callOf(row), isKept: isKept === 1, ...(end && { end }) };
}

function toRecord(row: ListedRow): JournalRecord {
  const { finishedAt, outcome, isReplyKept } = row;
  const hasEnd = isStartSound(row) && isEndSound(row) && finishedAt !== null && outcome !== null;
  return {
    ...callOf(row),
    ...(hasEnd && { end: { outcome, finishedAt, isReplyKept: isReplyKept === 1 } }),
  };
}

function callOf(row: CallRow) {
  const { agent, requestId, role, tool, thread, server, receivedAt, startedAt, finishedAt } = row;
  return {
    ...{ agent, requestId, role, tool, receivedAt },
    isSettled: row.isSettled === 1,
    // The state of a damaged row is unknown, so it counts as started.
    wasStarted: startedAt !== null || finishedAt !== null || !isStartSound(row),
    ...(startedAt !== null && { startedAt }),
    ...(thread !== null && { thread }),
    ...(server !== null && { server }),
  };
}

function isStartSound(row: CallRow): boolean {
  const { agent, requestId, role, tool, thread, server, receivedAt, startedAt, inbox, overAt } = row;
  const values = [agent, requestId, role, tool, thread, server, receivedAt, startedAt, inbox, overAt];
  return row.startChecksum === rowChecksum(...values);
}

function isEndSound({ finishedAt, outcome, endChecksum }: CallRow): boolean {
  if (finishedAt === null) return outcome === null && endChecksum === null;
  return endChecksum === rowChecksum(finishedAt, outcome);
}
