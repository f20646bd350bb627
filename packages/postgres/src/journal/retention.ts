import type { JournalLimits } from '@signalbox/serving';
import type { PostgresDatabase } from '../internal.ts';

/** Returns a function that deletes settled calls, kept replies and ended approvals that are too old or too many. */
export function retention(database: PostgresDatabase, limits: JournalLimits) {
  const kept = 'is_kept AND settled_at IS NOT NULL';
  // The conditions are in the outer statement, too: a call may be started again after the inner one has found it.
  const drop = `UPDATE @call SET reply = NULL, reply_bytes = 0, is_kept = false WHERE ${kept} AND number IN`;
  const settled = 'NOT is_kept AND settled_at IS NOT NULL';
  const bytesOf = 'octet_length(details)';
  const statements = [
    database.unnamed(
      `${drop} (SELECT number FROM @call WHERE ${kept} AND settled_at <= $1::bigint - ${limits.keptAgeMs})`,
    ),
    // The oldest replies to an agent are deleted first. Of the replies to all agents, the oldest ones to the agent with the most bytes are.
    database.unnamed(
      `${drop} (SELECT number FROM (
         SELECT number, count(*) OVER newest AS replies, sum(reply_bytes) OVER newest AS bytes FROM @call WHERE ${kept} AND $1::bigint IS NOT NULL
         WINDOW newest AS (PARTITION BY agent ORDER BY settled_at DESC, number DESC)
       ) AS own WHERE replies > ${limits.keptPerAgent} OR bytes > ${limits.keptBytesPerAgent})`,
    ),
    database.unnamed(
      `WITH size AS (SELECT sum(reply_bytes) - ${limits.keptBytes} AS over FROM @call WHERE ${kept} AND $1::bigint IS NOT NULL),
       most AS (SELECT agent FROM @call, size WHERE ${kept} AND size.over > 0 GROUP BY agent ORDER BY sum(reply_bytes) DESC LIMIT 1)
       ${drop} (SELECT number FROM (
         SELECT number, sum(reply_bytes) OVER (ORDER BY settled_at, number) - reply_bytes AS before
         FROM @call WHERE ${kept} AND agent = (SELECT agent FROM most)
       ) AS oldest, size WHERE before < size.over)`,
    ),
    database.unnamed(`DELETE FROM @call WHERE ${settled} AND settled_at <= $1::bigint - ${limits.ageMs}`),
    database.unnamed(
      `DELETE FROM @call WHERE ${settled} AND number IN (
         SELECT number FROM @call WHERE ${settled} AND $1::bigint IS NOT NULL ORDER BY settled_at, number
         LIMIT greatest(0, (SELECT count(*) FROM @call WHERE NOT is_kept) - ${limits.calls}))`,
    ),
    database.unnamed(
      `WITH size AS (SELECT coalesce(sum(reply_bytes), 0) - ${limits.bytes} AS over FROM @call WHERE NOT is_kept AND $1::bigint IS NOT NULL)
       UPDATE @call SET reply = NULL, reply_bytes = 0 WHERE ${settled} AND number IN (
         SELECT number FROM (
           SELECT number, sum(reply_bytes) OVER (ORDER BY settled_at, number) - reply_bytes AS before
           FROM @call WHERE ${settled} AND reply_bytes > 0
         ) AS oldest, size WHERE size.over > 0 AND before < size.over)`,
    ),
    database.unnamed(
      `WITH dropped AS (
         DELETE FROM @approval WHERE $1::bigint IS NOT NULL AND number IN (
           SELECT number FROM (
             SELECT number, count(*) OVER newest AS rows, sum(${bytesOf}) OVER newest AS bytes FROM @approval WHERE ending IS NOT NULL
             WINDOW newest AS (ORDER BY number DESC)
           ) AS ended WHERE rows > ${limits.approvals} OR bytes > ${limits.approvalBytes})
         RETURNING id)
       DELETE FROM @approval_attachment WHERE id IN (SELECT id FROM dropped)`,
    ),
  ];
  /** `now` is the time of the database in epoch milliseconds. */
  return async (now: number): Promise<void> => {
    for (const statement of statements)
      await database.transaction((transaction) => transaction.query(statement, [now]));
  };
}
