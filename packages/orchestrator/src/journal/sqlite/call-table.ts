import type { CallRecordOutcome } from '@signalbox/protocol';
import type { Database, Statement } from 'better-sqlite3';
import type { CallEnd, CallKey, JournalEntry, StartedCall } from '../journal.ts';

/** How long a settled call is kept: as long as all three limits allow. A call that is not settled is always kept. */
export interface JournalRetention {
  /** Time since the request was settled, or since its lifetime ended. */
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
  expiresAt: number;
  finishedAt: number | null;
  outcome: CallRecordOutcome | null;
  reply: string | null;
}

const columns = `agent, request_id AS requestId, role, tool, server, received_at AS receivedAt,
  started_at AS startedAt, expires_at AS expiresAt, finished_at AS finishedAt, outcome, reply`;

/** Limits the rows of one housekeeping step, so that it does not hold up calls for long. */
const pruneBatch = 500;
const replyBatch = 16;

/** Reads and writes the table of calls. The caller provides the transactions. */
export class CallTable {
  readonly #find: Statement<[string, string], Row>;
  readonly #list: Statement<[number, number], Row>;
  readonly #start: Statement<(string | number | null)[]>;
  readonly #finish: Statement<(string | number)[]>;
  readonly #settleStored: Statement<[number, string, string]>;
  readonly #settleRefused: Statement<[number, string, string]>;
  readonly #size: Statement<[], { rows: number; bytes: number }>;
  readonly #deleteSettled: Statement<[before: number, limit: number]>;
  readonly #deleteExpired: Statement<[before: number, limit: number]>;
  readonly #deleteReplies: Statement<[before: number, limit: number]>;

  constructor(db: Database) {
    this.#find = db.prepare(`SELECT ${columns} FROM call WHERE agent = ? AND request_id = ?`);
    this.#list = db.prepare(
      `SELECT ${columns} FROM call WHERE received_at >= ? ORDER BY received_at DESC LIMIT ?`,
    );
    this.#start = db.prepare(
      `INSERT OR REPLACE INTO call
         (agent, request_id, role, tool, server, received_at, started_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#finish = db.prepare(
      `UPDATE call SET finished_at = ?, outcome = ?, reply = ?, reply_bytes = ?
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
    this.#deleteExpired = db.prepare(
      `DELETE FROM call WHERE rowid IN
         (SELECT rowid FROM call WHERE settled_at IS NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?)`,
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

  start(call: StartedCall): void {
    const { agent, requestId, role, tool, server = null, receivedAt, startedAt, expiresAt } = call;
    this.#start.run(agent, requestId, role, tool, server, receivedAt, startedAt, expiresAt);
  }

  finish({ agent, requestId }: CallKey, { outcome, finishedAt, reply }: CallEnd): void {
    this.#finish.run(finishedAt, outcome, reply, Buffer.byteLength(reply), agent, requestId);
  }

  settle({ agent, requestId }: CallKey, how: 'stored' | 'refused', now: number): void {
    (how === 'stored' ? this.#settleStored : this.#settleRefused).run(now, agent, requestId);
  }

  /**
   * Deletes one small batch of old calls or replies. Returns true if there may be more to delete. A call whose request
   * could still be delivered is always kept.
   */
  prune({ maxAgeMs, maxRows, maxBytes }: JournalRetention, now: number): boolean {
    const { rows, bytes } = this.#size.get()!;
    const over = rows > maxRows ? Math.min(pruneBatch, rows - maxRows) : 0;
    if (over > 0 && this.#deleteCalls(now, over) === over) return true;
    if (bytes > maxBytes && this.#deleteReplies.run(now, replyBatch).changes === replyBatch) return true;
    return this.#deleteCalls(now - maxAgeMs, pruneBatch) === pruneBatch;
  }

  /**
   * Deletes up to `limit` calls that were settled, or whose lifetime ended, by that time. Returns how many it deleted.
   */
  #deleteCalls(before: number, limit: number): number {
    const settled = this.#deleteSettled.run(before, limit).changes;
    return settled + this.#deleteExpired.run(before, limit - settled).changes;
  }
}

function toEntry({ server, finishedAt, outcome, reply, ...call }: Row): JournalEntry {
  return {
    ...call,
    ...(server !== null && { server }),
    ...(finishedAt !== null &&
      outcome !== null && { end: { outcome, finishedAt, ...(reply !== null && { reply }) } }),
  };
}
