import type { CallRecordOutcome } from '@signalbox/protocol';
import type { Database, Statement } from 'better-sqlite3';
import type { CallEnd, CallKey, JournalEntry, StartedCall } from '../journal.ts';
import { rowChecksum } from './row-checksum.ts';

/** How long a settled call is kept: as long as all three limits allow. A call that is not settled is always kept. */
export interface JournalRetention {
  /** Time since the request was settled, while a journal was open. */
  maxAgeMs: number;
  maxRows: number;
  /** Bytes of all stored replies together. */
  maxBytes: number;
}

interface Row {
  agent: string;
  requestId: string;
  role: string;
  tool: string;
  server: string | null;
  receivedAt: number;
  startedAt: number;
  inbox: string;
  overAt: number;
  finishedAt: number | null;
  outcome: CallRecordOutcome | null;
  reply: string | null;
  startChecksum: number;
  endChecksum: number | null;
  replyChecksum: number | null;
}

const columns = `agent, request_id AS requestId, role, tool, server, received_at AS receivedAt,
  started_at AS startedAt, inbox, over_at AS overAt, finished_at AS finishedAt, outcome, reply,
  start_checksum AS startChecksum, end_checksum AS endChecksum, reply_checksum AS replyChecksum`;

/** Limits the rows of one housekeeping step, so that it does not hold up calls for long. */
const pruneBatch = 500;
const replyBatch = 16;

/** Reads and writes the table of calls. The caller provides the transactions. */
export class CallTable {
  readonly #find: Statement<[string, string], Row>;
  readonly #list: Statement<[number, number], Row>;
  readonly #all: Statement<[], Omit<Row, 'reply' | 'replyChecksum'> & { isSettled: number }>;
  readonly #start: Statement<(string | number | null)[]>;
  readonly #finish: Statement<(string | number)[]>;
  readonly #settleStored: Statement<[number, string, string]>;
  readonly #settleRefused: Statement<[number, string, string]>;
  readonly #size: Statement<[], { rows: number; bytes: number }>;
  readonly #deleteSettled: Statement<[before: number, limit: number]>;
  readonly #inDoubt: Statement<[string, number, number, number], CallKey & { number: number }>;
  readonly #deleteReplies: Statement<[before: number, limit: number]>;

  constructor(db: Database) {
    this.#find = db.prepare(`SELECT ${columns} FROM call WHERE agent = ? AND request_id = ?`);
    this.#list = db.prepare(
      `SELECT ${columns} FROM call WHERE received_at >= ? ORDER BY received_at DESC LIMIT ?`,
    );
    this.#all = db.prepare(
      `SELECT ${columns.replace(' reply,', ' settled_at IS NOT NULL AS isSettled,')} FROM call NOT INDEXED`,
    );
    this.#start = db.prepare(
      `INSERT OR REPLACE INTO call
         (agent, request_id, role, tool, server, received_at, started_at, inbox, over_at, start_checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#finish = db.prepare(
      `UPDATE call SET finished_at = ?, outcome = ?, reply = ?, reply_bytes = ?, end_checksum = ?, reply_checksum = ?
       WHERE agent = ? AND request_id = ? AND finished_at IS NULL`,
    );
    const settle = (drop: string) =>
      db.prepare<[number, string, string]>(
        `UPDATE call SET settled_at = ?${drop} WHERE agent = ? AND request_id = ?`,
      );
    this.#settleStored = settle(', reply = NULL, reply_bytes = 0');
    this.#settleRefused = settle('');
    this.#size = db.prepare('SELECT COUNT(*) AS rows, COALESCE(SUM(reply_bytes), 0) AS bytes FROM call');
    this.#deleteSettled = db.prepare(
      `DELETE FROM call WHERE rowid IN
         (SELECT rowid FROM call WHERE settled_at <= ? ORDER BY settled_at LIMIT ?)`,
    );
    this.#inDoubt = db.prepare(
      `SELECT rowid AS number, agent, request_id AS requestId FROM call
       WHERE settled_at IS NULL AND inbox = ? AND rowid > ? AND over_at <= ? ORDER BY rowid LIMIT ?`,
    );
    this.#deleteReplies = db.prepare(
      `UPDATE call SET reply = NULL, reply_bytes = 0 WHERE rowid IN
         (SELECT rowid FROM call WHERE settled_at <= ? AND reply_bytes > 0 ORDER BY settled_at LIMIT ?)`,
    );
  }

  find({ agent, requestId }: CallKey): JournalEntry | undefined {
    const row = this.#find.get(agent, requestId);
    return row && toEntry(row);
  }

  list(since: number, limit: number): JournalEntry[] {
    return this.#list.all(since, limit).map(toEntry);
  }

  /** `now` is in running milliseconds, here and below. */
  start(call: StartedCall, now: number): void {
    const { agent, requestId, role, tool, server = null, receivedAt, startedAt, inbox, lifetimeMs } = call;
    const overAt = Math.ceil(now + lifetimeMs);
    const values = [agent, requestId, role, tool, server, receivedAt, startedAt, inbox, overAt] as const;
    this.#start.run(...values, rowChecksum(...values));
  }

  finish({ agent, requestId }: CallKey, { outcome, finishedAt, reply }: CallEnd): void {
    const checksums = [rowChecksum(finishedAt, outcome), rowChecksum(reply)] as const;
    this.#finish.run(finishedAt, outcome, reply, Buffer.byteLength(reply), ...checksums, agent, requestId);
  }

  settle({ agent, requestId }: CallKey, how: 'stored' | 'refused' | 'found', now: number): void {
    (how === 'stored' ? this.#settleStored : this.#settleRefused).run(now, agent, requestId);
  }

  /** Calls of an inbox that are not settled although their lifetime is over, behind a number. */
  inDoubt(inbox: string, after: number, now: number, limit: number): (CallKey & { number: number })[] {
    return this.#inDoubt.all(inbox, after, now, limit);
  }

  /** Reads all calls but for their replies. Returns how many rows are damaged, or are not found by their keys. */
  countDamaged(): number {
    let damaged = 0;
    for (const row of this.#all.iterate()) {
      const isFound = row.isSettled || this.#find.get(row.agent, row.requestId) !== undefined;
      if (!isFound || !isStartSound(row) || !isEndSound(row)) damaged++;
    }
    return damaged;
  }

  /** Deletes one small batch of old calls or replies, all of them settled. Returns true if there may be more to delete. */
  prune({ maxAgeMs, maxRows, maxBytes }: JournalRetention, now: number): boolean {
    const { rows, bytes } = this.#size.get()!;
    const over = rows > maxRows ? Math.min(pruneBatch, rows - maxRows) : 0;
    if (over > 0 && this.#deleteSettled.run(now, over).changes === over) return true;
    if (bytes > maxBytes && this.#deleteReplies.run(now, replyBatch).changes === replyBatch) return true;
    return this.#deleteSettled.run(now - maxAgeMs, pruneBatch).changes === pruneBatch;
  }
}

/** The end of a damaged row is left out: it is not known how the call ended, and it is not made again. */
function toEntry(row: Row): JournalEntry {
  const { agent, requestId, role, tool, server, receivedAt, startedAt } = row;
  const { finishedAt, outcome, reply, replyChecksum } = row;
  const isReplySound = reply === null || replyChecksum === rowChecksum(reply);
  const isSound = isStartSound(row) && isEndSound(row) && isReplySound;
  return {
    ...{ agent, requestId, role, tool, receivedAt, startedAt },
    ...(server !== null && { server }),
    ...(isSound &&
      finishedAt !== null &&
      outcome !== null && { end: { outcome, finishedAt, ...(reply !== null && { reply }) } }),
  };
}

function isStartSound(row: Omit<Row, 'reply' | 'replyChecksum'>): boolean {
  const { agent, requestId, role, tool, server, receivedAt, startedAt, inbox, overAt, startChecksum } = row;
  return (
    startChecksum === rowChecksum(agent, requestId, role, tool, server, receivedAt, startedAt, inbox, overAt)
  );
}

function isEndSound({ finishedAt, outcome, endChecksum }: Omit<Row, 'reply' | 'replyChecksum'>): boolean {
  return finishedAt === null ? endChecksum === null : endChecksum === rowChecksum(finishedAt, outcome);
}
