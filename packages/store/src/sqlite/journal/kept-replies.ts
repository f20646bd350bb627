import type { Database, Statement } from 'better-sqlite3';

/**
 * The limits of the replies that are kept for their requesters: a reply is kept as long as all of them allow. The oldest ones are dropped
 * first.
 */
export interface KeptReplyLimits {
  /** The longest time since the request was settled, in milliseconds during which a journal was open. */
  maxAgeMs: number;
  /** The most replies to one agent, and the most bytes of these. */
  repliesPerAgent: number;
  bytesPerAgent: number;
  /** The most bytes of the replies to all agents. Beyond it, replies to the agent with the most bytes are dropped. */
  bytes: number;
}

/** The most replies that one step drops, so that it does not hold up calls for long. */
const dropBatch = 64;

const isKept = 'is_kept = 1 AND settled_at IS NOT NULL';

/**
 * Bounds the replies in the table of calls that are kept for their requesters. A call whose reply was dropped is an ordinary settled
 * call. The caller provides the transactions.
 */
export class KeptReplies {
  readonly #sizeOf: Statement<[string], { replies: number; bytes: number }>;
  readonly #bytes: Statement<[], number>;
  readonly #largest: Statement<[], string>;
  readonly #oldestOf: Statement<[agent: string, limit: number], number>;
  readonly #dropOf: Statement<[agent: string, limit: number]>;
  readonly #dropUntil: Statement<[settledAt: number, limit: number]>;

  constructor(db: Database) {
    this.#sizeOf = db.prepare(
      `SELECT COUNT(*) AS replies, COALESCE(SUM(reply_bytes), 0) AS bytes FROM call WHERE ${isKept} AND agent = ?`,
    );
    this.#bytes = db
      .prepare<[], number>(`SELECT COALESCE(SUM(reply_bytes), 0) FROM call WHERE ${isKept}`)
      .pluck();
    this.#largest = db
      .prepare<[], string>(
        `SELECT agent FROM call WHERE ${isKept} GROUP BY agent ORDER BY SUM(reply_bytes) DESC LIMIT 1`,
      )
      .pluck();
    this.#oldestOf = db
      .prepare<[string, number], number>(
        `SELECT reply_bytes FROM call WHERE ${isKept} AND agent = ? ORDER BY settled_at, rowid LIMIT ?`,
      )
      .pluck();
    const drop = 'UPDATE call SET reply = NULL, reply_bytes = 0, is_kept = 0 WHERE rowid IN';
    this.#dropOf = db.prepare(
      `${drop} (SELECT rowid FROM call WHERE ${isKept} AND agent = ? ORDER BY settled_at, rowid LIMIT ?)`,
    );
    this.#dropUntil = db.prepare(
      `${drop} (SELECT rowid FROM call WHERE is_kept = 1 AND settled_at <= ? LIMIT ?)`,
    );
  }

  /** Drops the oldest replies to one agent beyond its limits. Call it for each reply that is kept. */
  bound(agent: string, { repliesPerAgent, bytesPerAgent }: KeptReplyLimits): void {
    const { replies, bytes } = this.#sizeOf.get(agent)!;
    this.#dropOldest(agent, { replies: replies - repliesPerAgent, bytes: bytes - bytesPerAgent });
  }

  /** Drops one small batch of replies that are too old or too many. Returns true if there may be more to drop. */
  prune({ maxAgeMs, bytes }: KeptReplyLimits, now: number): boolean {
    if (this.#dropUntil.run(now - maxAgeMs, dropBatch).changes === dropBatch) return true;
    const over = this.bytes() - bytes;
    const largest = over > 0 ? this.#largest.get() : undefined;
    if (largest === undefined) return false;
    this.#dropOldest(largest, { replies: 0, bytes: over });
    return true;
  }

  /** Returns the bytes of all kept replies. */
  bytes(): number {
    return this.#bytes.get()!;
  }

  /** Drops the oldest replies to an agent: at least this many replies and this many bytes, but at most one batch. */
  #dropOldest(agent: string, { replies, bytes }: { replies: number; bytes: number }): void {
    if (replies <= 0 && bytes <= 0) return;
    let [dropped, left] = [0, bytes];
    for (const size of this.#oldestOf.iterate(agent, dropBatch)) {
      if (dropped >= replies && left <= 0) break;
      dropped++;
      left -= size;
    }
    this.#dropOf.run(agent, dropped);
  }
}
