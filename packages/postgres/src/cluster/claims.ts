import type { Claimed, ClaimRequest, KeyMode, StoredMessage } from '@signalbox/store';
import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { type MessageRow, messageColumns, readMessageOf } from '../inbox-store/message-rows.ts';
import { groupKey } from '../schema.ts';
import type { ClaimRows } from './claim-rows.ts';
import { anySeq, type WakeUp, type WakeUps } from './wake-ups.ts';

interface InboxRow {
  name: string;
  incarnation: number | null;
  members: number[] | null;
  headSeq: number;
}

/** The dependencies of {@link Claims}. */
export interface ClaimsDeps {
  /** The incarnation of this broker. */
  incarnation: number;
  wakeUps: WakeUps;
  rows: ClaimRows;
  /** Reads in a transaction which incarnations live. */
  incarnations(transaction: Transaction): Promise<ReadonlySet<number>>;
}

const isLiving = 'NOT s.is_over';
/** SQL for the condition that a message is the first pending one of its key: one message of a key at a time is handed out. */
const firstOfKey = `(m.group_key IS NULL OR NOT EXISTS (
  SELECT FROM @message e WHERE e.group_key IS NOT NULL AND ${groupKey('e.')} = ${groupKey('m.')} AND e.seq < m.seq))`;
/** SQL for the condition that a sender's messages go to no member of another broker. */
const ownSender = `coalesce((SELECT a.incarnation = $5 OR NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = a.incarnation AND ${isLiving})
  FROM @key_member a WHERE a.inbox = m.inbox AND a.key = m.sender), true)`;
const keyRules: Readonly<Record<KeyMode, string>> = { in_order: firstOfKey, by_member: ownSender };

/**
 * Claims messages of shared inboxes for a broker. A claim is one transaction under the lock of the inbox, durable before the messages are
 * handed out. So no message is claimed twice, and a key has one message or one broker at a time.
 */
export class Claims {
  readonly #database: PostgresDatabase;
  readonly #deps: ClaimsDeps;
  readonly #lock: Statement;
  readonly #claim: Readonly<Record<KeyMode, Statement>>;
  readonly #claimOne: Readonly<Record<KeyMode, Statement>>;
  readonly #drop: Statement;
  readonly #free: Statement;
  readonly #dropKeys: Statement;
  readonly #withGone: Statement;
  readonly #leave: Statement;

  constructor(database: PostgresDatabase, deps: ClaimsDeps) {
    this.#database = database;
    this.#deps = deps;
    this.#lock = database.statement(
      `SELECT name, incarnation, members, head_seq AS "headSeq" FROM @inbox WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE`,
    );
    const statements = (range: string, mayBeOwn: string) => ({
      in_order: claimStatement(database, 'in_order', range, mayBeOwn),
      by_member: claimStatement(database, 'by_member', range, mayBeOwn),
    });
    this.#claim = statements('m.seq > $2', '');
    this.#claimOne = statements('m.seq = $2', 'OR c.incarnation = $5');
    const own = 'inbox = $1 AND seq = ANY($2::bigint[]) AND incarnation = $3';
    this.#drop = database.statement(`DELETE FROM @claim WHERE ${own} AND NOT was_out AND NOT $4::boolean`);
    this.#free = database.statement(`UPDATE @claim SET incarnation = NULL, was_out = true WHERE ${own}`);
    this.#dropKeys = database.statement(
      'DELETE FROM @key_member WHERE inbox = $1 AND key = ANY($2::text[]) AND incarnation = $3',
    );
    this.#withGone = database.statement(
      `SELECT name FROM @inbox i WHERE name = ANY($1::text[]) AND EXISTS (SELECT FROM unnest(i.members) AS m(incarnation)
         WHERE NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = m.incarnation AND ${isLiving}))`,
    );
    this.#leave = database.statement(
      `UPDATE @inbox SET members = nullif(ARRAY(SELECT m FROM unnest(members) AS m WHERE m <> ALL($2::bigint[])), '{}')
       WHERE name = ANY($1::text[])`,
    );
  }

  /** Claims messages. Resolves with `undefined` if this broker no longer shares the inbox. */
  claim(inbox: string, { after, limit, maxBytes, keys }: ClaimRequest): Promise<Claimed | undefined> {
    return this.#inShared(inbox, async (transaction, { headSeq }) => {
      const values = [inbox, after, limit, maxBytes, this.#deps.incarnation];
      const rows = await transaction.query<MessageRow & { found: number }>(this.#claim[keys], values);
      const messages = rows.map(readMessageOf).sort((a, b) => a.seq - b.seq);
      const found = rows[0]?.found ?? 0;
      const isAll = found < limit && found === messages.length;
      return { messages, isAll, upTo: isAll ? Math.max(headSeq, after) : (messages.at(-1)?.seq ?? after) };
    });
  }

  /** Claims one message, or finds that this broker has claimed it already. */
  claimAgain(inbox: string, seq: number, keys: KeyMode): Promise<StoredMessage | undefined> {
    return this.#inShared(inbox, async (transaction) => {
      const values = [inbox, seq, 1, 1, this.#deps.incarnation];
      const [row] = await transaction.query<MessageRow>(this.#claimOne[keys], values);
      return row && readMessageOf(row);
    });
  }

  /** Gives back claimed messages, and keys that no member has. Other brokers are told of those that are handed over. */
  async unclaim(
    inbox: string,
    seqs: readonly number[],
    {
      isHandedOver,
      wasHandedOut,
      keys,
    }: { isHandedOver: boolean; wasHandedOut: boolean; keys: readonly string[] },
  ): Promise<void> {
    const { incarnation, wakeUps } = this.#deps;
    const notify = await this.#database.transaction(async (transaction) => {
      const [row] = await transaction.query<InboxRow>(this.#lock, [[inbox]]);
      transaction.write(this.#drop, [inbox, seqs, incarnation, wasHandedOut]);
      transaction.write(this.#free, [inbox, seqs, incarnation]);
      if (keys.length > 0) transaction.write(this.#dropKeys, [inbox, keys, incarnation]);
      const others = (row?.members ?? []).filter((other) => other !== incarnation);
      const told = isHandedOver
        ? others.flatMap((other) => seqs.map((seq) => ({ incarnation: other, inbox, seq })))
        : [];
      return wakeUps.write(transaction, told);
    });
    notify();
  }

  /** Frees the claims of dead brokers in these inboxes. Returns the inboxes in which something is free now. */
  async freeGone(inboxes: readonly string[]): Promise<string[]> {
    const { incarnations, rows, wakeUps, incarnation: own } = this.#deps;
    const found = await this.#database.read<{ name: string }>(this.#withGone, [inboxes]);
    if (found.length === 0) return [];
    const names = found.map(({ name }) => name).sort();
    const notify = await this.#database.transaction(async (transaction) => {
      const locked = await transaction.query<InboxRow>(this.#lock, [names]);
      const known = await incarnations(transaction);
      const members = new Set(locked.flatMap((row) => row.members ?? []));
      const gone = [...members].filter((incarnation) => !known.has(incarnation));
      if (gone.length === 0) return () => {};
      rows.free(transaction, names, gone);
      transaction.write(this.#leave, [names, gone]);
      const others = [...members].filter((incarnation) => incarnation !== own && known.has(incarnation));
      const all = locked.flatMap(({ name: inbox, members }): WakeUp[] =>
        others.flatMap((incarnation) =>
          members?.includes(incarnation) ? [{ incarnation, inbox, seq: anySeq }] : [],
        ),
      );
      return wakeUps.write(transaction, all);
    });
    notify();
    return names;
  }

  /** Runs a change under the lock of an inbox that this broker shares. */
  #inShared<T>(
    inbox: string,
    change: (transaction: Transaction, row: InboxRow) => Promise<T>,
  ): Promise<T | undefined> {
    const { incarnation } = this.#deps;
    return this.#database.transaction(async (transaction) => {
      const [row] = await transaction.query<InboxRow>(this.#lock, [[inbox]]);
      return row?.members?.includes(incarnation) ? change(transaction, row) : undefined;
    });
  }
}

/**
 * Returns a statement that claims the messages in a range which nobody has and whose keys are free. `found` counts them, including those
 * that have too many bytes. Its values are inbox, place, limit, bytes and incarnation. Rows are looked up one by one: a join that was
 * planned for an empty table would read a whole inbox for each row.
 */
function claimStatement(
  database: PostgresDatabase,
  keys: KeyMode,
  range: string,
  mayBeOwn: string,
): Statement {
  const keep =
    keys === 'by_member'
      ? `, kept AS (
           INSERT INTO @key_member SELECT DISTINCT $1, m.sender, $5::bigint FROM claimed
           CROSS JOIN LATERAL (SELECT sender FROM @message WHERE inbox = $1 AND seq = claimed.seq OFFSET 0) AS m
           ON CONFLICT (inbox, key) DO UPDATE SET incarnation = excluded.incarnation
         )`
      : '';
  return database.statement(
    `WITH free AS (
       SELECT m.seq, m.size FROM @message m
         LEFT JOIN LATERAL (SELECT incarnation FROM @claim WHERE inbox = $1 AND seq = m.seq OFFSET 0) AS c ON true
       WHERE m.inbox = $1 AND ${range} AND ${keyRules[keys]}
         AND (c.incarnation IS NULL ${mayBeOwn} OR NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = c.incarnation AND ${isLiving}))
       ORDER BY m.seq LIMIT $3::int
     ), next AS (
       SELECT seq FROM (SELECT seq, sum(size) OVER (ORDER BY seq) AS upto, row_number() OVER (ORDER BY seq) AS place FROM free) AS k
       WHERE upto <= $4::bigint OR place = 1
     ), claimed AS (
       INSERT INTO @claim AS c SELECT $1, seq, $5::bigint, false FROM next
       ON CONFLICT (inbox, seq) DO UPDATE SET incarnation = excluded.incarnation,
         was_out = c.was_out OR (c.incarnation IS NOT NULL AND c.incarnation <> excluded.incarnation)
       RETURNING seq
     )${keep}
     SELECT ${messageColumns('m')}, m.is_cancelled AS "isCancelled", m.body, (SELECT count(*) FROM free) AS found
     FROM claimed CROSS JOIN LATERAL (SELECT * FROM @message WHERE inbox = $1 AND seq = claimed.seq OFFSET 0) AS m`,
  );
}
