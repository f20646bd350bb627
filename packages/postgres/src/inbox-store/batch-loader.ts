import type { RequestKey } from '@signalbox/store';
import { inboxesOf, type LoggedMessage } from '@signalbox/store/rules';
import type { InboxCluster } from '../cluster/postgres-cluster.ts';
import { type Transaction, Undo } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { hasIdOf, isAtPlace } from '../schema.ts';
import type { BatchPlan, IdKey } from './batch-plan.ts';
import { Counts } from './counts.ts';
import {
  type MessageRow,
  messageColumns,
  messageOf,
  type SettledRow,
  settledMessageOf,
} from './message-rows.ts';
import type { SettledSlices, Slice, SliceStatements } from './settled-slices.ts';
import { WorkingDeadLetters } from './working-dead-letters.ts';
import { WorkingScheduledMessages } from './working-scheduled.ts';
import { type Claim, type Holder, WorkingSet } from './working-set.ts';

/** The rows that a transaction has locked and read. */
export interface Loaded {
  set: WorkingSet;
  counts: Counts;
  scheduled: WorkingScheduledMessages;
  dead: WorkingDeadLetters;
  /** Gives out the sequence numbers that were drawn. */
  sequence: { next(): number };
  slices: SliceStatements;
  /** The rows from which the others were made. */
  rows: LoadedRows;
}

/** Rows as they were before a transaction, read or remembered. */
export interface LoadedRows {
  inboxes: readonly InboxRow[];
  agents: readonly AgentRow[];
  pairs: readonly PairRow[];
  /** Pending messages that are settled or changed. */
  pending: readonly { message: LoggedMessage; claim?: Claim | undefined }[];
  /** The sequence numbers that are drawn. */
  numbers: readonly number[];
  /** The incarnations that live. */
  living: ReadonlySet<number>;
  /** The last epoch of all incarnations. */
  lastEpoch: number;
}

/** Thrown if rows must be made before they can be locked. */
export class MissingRows extends Undo {
  override readonly name = 'MissingRows';
}

export interface InboxRow {
  name: string;
  incarnation: number | null;
  members: number[] | null;
  takenSeq: number;
  headSeq: number;
  pending: number;
  bytes: number;
  scheduled: number;
  scheduledBytes: number;
}

export interface AgentRow {
  name: string;
  received: number;
  receivedBytes: number;
  sent: number;
  sentBytes: number;
}

interface ForgottenRow {
  seq: number;
  requester: string;
  id: string;
  inbox: string;
  openUntil: number;
  isOver: boolean;
  takers: string[];
  details: string;
}

/**
 * Locks and reads the rows that a transaction needs. All transactions lock in the same order, so that no two wait for each other: inboxes
 * by name, then agents by name. A row that was read before a lock may be outdated, so everything is read after the locks. The sequence
 * numbers are drawn there, too; therefore the numbers of an inbox ascend in the order of the commits.
 */
export class BatchLoader {
  readonly #database: PostgresDatabase;
  readonly #slices: SettledSlices;
  readonly #cluster: InboxCluster;
  readonly #lockInboxes: Statement;
  readonly #lockAgents: Statement;
  readonly #pairs: Statement;
  readonly #byId: Statement;
  readonly #bySeq: Statement;
  readonly #numbers: Statement;
  readonly #scheduledById: Statement;
  readonly #scheduled: Statement;
  readonly #dead: Statement;
  readonly #forgotten: Statement;
  readonly #makeInboxes: Statement;
  readonly #makeAgents: Statement;

  constructor(database: PostgresDatabase, slices: SettledSlices, cluster: InboxCluster) {
    this.#database = database;
    this.#slices = slices;
    this.#cluster = cluster;
    const ids = 'unnest($1::text[], $2::text[], $3::text[]) AS k(inbox, id, sender)';
    const hasId = hasIdOf('m', 'k');
    const places = `unnest($1::text[], $2::bigint[]) AS k(inbox, seq) JOIN @message m ON ${isAtPlace('m', 'k')}`;
    const claim = 'c.seq IS NOT NULL AS "wasOut", c.incarnation AS claim';
    const withClaim = `LEFT JOIN @claim c ON ${isAtPlace('c', 'm')}`;
    this.#lockInboxes = database.statement(
      `SELECT name, incarnation, members, taken_seq AS "takenSeq", head_seq AS "headSeq", pending, bytes, scheduled, scheduled_bytes AS "scheduledBytes" FROM @inbox
       WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE`,
    );
    this.#lockAgents = database.statement(
      `SELECT name, received, received_bytes AS "receivedBytes", sent, sent_bytes AS "sentBytes" FROM @agent
       WHERE name = ANY(ARRAY(SELECT unnest($3::text[]) UNION SELECT m.sender FROM ${places} WHERE m.is_counted))
       ORDER BY name FOR UPDATE`,
    );
    this.#pairs = database.statement(
      `SELECT p.sender, p.recipient, p.messages, p.bytes FROM unnest($1::text[], $2::text[]) AS k(sender, recipient)
       JOIN @sent_to p ON p.sender = k.sender AND p.recipient = k.recipient`,
    );
    this.#byId = database.statement(
      `SELECT ${messageColumns('m')}, CASE WHEN k.reads_body THEN m.body END AS body, k.reads_body AS "readsBody", ${claim}
       FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) AS k(inbox, id, sender, reads_body)
       JOIN @message m ON ${hasId} ${withClaim}`,
    );
    this.#bySeq = database.statement(`SELECT ${messageColumns('m')}, ${claim} FROM ${places} ${withClaim}`);
    this.#numbers = database.statement(
      `SELECT translate(ARRAY(SELECT nextval('@message_seq') FROM generate_series(1, $1::int))::text, '{}', '[]') AS numbers`,
    );
    const scheduledColumns = `${messageColumns('m')}, m.body, m.sent_at AS "sentAt"`;
    this.#scheduledById = database.statement(
      `SELECT ${scheduledColumns} FROM ${ids} JOIN @scheduled m ON ${hasId}`,
    );
    this.#scheduled = database.statement(
      `SELECT ${scheduledColumns} FROM @scheduled m WHERE seq = ANY($1::bigint[])`,
    );
    this.#dead = database.statement(
      `SELECT ${messageColumns('m')}, m.body, m.dead_at AS "deadAt", m.reason FROM @dead_letter m WHERE seq = ANY($1::bigint[])`,
    );
    this.#forgotten = database.statement(
      `SELECT m.seq, m.requester, m.id, m.inbox, m.open_until AS "openUntil", m.is_over AS "isOver", m.takers, m.details
       FROM ${ids} JOIN @open_request m ON m.inbox = k.inbox AND m.id = k.id AND m.requester = k.sender ORDER BY m.seq`,
    );
    this.#makeInboxes = database.statement(
      'INSERT INTO @inbox (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING',
    );
    this.#makeAgents = database.statement(
      'INSERT INTO @agent (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING',
    );
  }

  /** Makes the rows that a transaction needs to lock, in an earlier transaction. They need not survive a crash. */
  async make(transaction: Transaction, plan: BatchPlan): Promise<void> {
    transaction.beQuick();
    transaction.write(this.#makeInboxes, [[...plan.ensured].sort()]);
    transaction.write(this.#makeAgents, [[...plan.ensuredAgents].sort()]);
  }

  /**
   * Locks and reads the rows. Throws {@link MissingRows}. It sees settled messages in the slices that existed at the last look; `now` is
   * epoch milliseconds.
   */
  async load(
    transaction: Transaction,
    plan: BatchPlan,
    known: SliceStatements,
    now: () => number,
  ): Promise<Loaded> {
    const { places, ids } = plan;
    // A request that its reply settles is among the places.
    const requests = requestKeys(plan.requests.filter(({ settles }) => !settles));
    const keys = [...ids, ...requests];
    const placeColumns = [places.map(({ inbox }) => inbox), places.map(({ seq }) => seq)] as const;
    const query = transaction.query.bind(transaction);
    const none = Promise.resolve([]);
    const reads = [
      query<InboxRow>(this.#lockInboxes, [[...plan.inboxes]]),
      query<AgentRow>(this.#lockAgents, [...placeColumns, [...plan.agents]]),
      this.#cluster.incarnations(transaction),
      query<Slice>(this.#slices.list),
      plan.numbers > 0 ? query<{ numbers: string }>(this.#numbers, [plan.numbers]) : none,
      plan.pairs.size > 0
        ? query<PairRow>(this.#pairs, columnsOf([...plan.pairs.values()], 'sender', 'recipient'))
        : none,
      places.length > 0 ? query<PendingRow>(this.#bySeq, [...placeColumns]) : none,
      keys.length > 0
        ? query<PendingRow & { readsBody: boolean }>(this.#byId, [
            ...columnsOf(keys, 'inbox', 'id', 'sender'),
            keys.map((_, at) => at < ids.length),
          ])
        : none,
      keys.length > 0
        ? query<SettledRow & { slice: number }>(known.byId, columnsOf(keys, 'inbox', 'id', 'sender'))
        : none,
      plan.scheduled.length > 0 ? query<ScheduledRow>(this.#scheduled, [plan.scheduled]) : none,
      plan.dead.length > 0 ? query<DeadRow>(this.#dead, [plan.dead]) : none,
      requests.length > 0
        ? query<ForgottenRow>(this.#forgotten, columnsOf(requests, 'inbox', 'id', 'sender'))
        : none,
    ] as const;
    const [
      inboxes,
      agents,
      incarnations,
      sliceRows,
      numbers,
      pairs,
      bySeq,
      byId,
      settled,
      scheduled,
      dead,
      forgotten,
    ] = await Promise.all(reads);
    if (!hasAll(inboxes, plan.ensured) || !hasAll(agents, plan.ensuredAgents)) throw new MissingRows();
    const claimOf = ({ wasOut, claim }: PendingRow): Claim | undefined =>
      wasOut ? { holder: this.#holderOf(claim, incarnations.living) } : undefined;
    const rows: LoadedRows = {
      inboxes,
      agents,
      pairs,
      pending: bySeq.map((row) => ({ message: messageOf(row), claim: claimOf(row) })),
      numbers: numbers.flatMap((row) => JSON.parse(row.numbers) as number[]),
      ...incarnations,
    };
    const loaded = this.#loadedOf(rows, known, now, (set) => {
      for (const row of byId) set.load(messageOf(row), 'pending', row.readsBody, claimOf(row));
    });
    const { set, dead: letters } = loaded;
    for (const { slice, ...row } of settled) set.load(settledMessageOf(row), slice, false);
    for (const row of forgotten) loadForgotten(set, row);
    for (const { sentAt, ...row } of scheduled) loaded.scheduled.load(messageOf(row), sentAt);
    for (const { deadAt, reason, ...row } of dead) letters.load({ message: messageOf(row), deadAt, reason });
    await this.#loadMore(transaction, plan, loaded, sliceRows);
    return loaded;
  }

  /**
   * Takes remembered rows for those of the database, and makes the transaction fail if they are not. Returns `undefined`, and sends nothing,
   * if more must be read.
   */
  guess(
    transaction: Transaction,
    plan: BatchPlan,
    { rows, slices, now }: { rows: LoadedRows; slices: SliceStatements; now: () => number },
  ): Loaded | undefined {
    const loaded = this.#loadedOf(rows, slices, now);
    if (missedRequests(plan, loaded.set).length > 0) return undefined;
    const { broker, epoch } = this.#database;
    const { numbers, lastEpoch } = rows;
    const keys = columnsOf(plan.ids, 'inbox', 'id', 'sender');
    transaction.guard(slices.guard, [...keys, broker, epoch, lastEpoch, numbers[0] ?? 0, numbers.length]);
    return loaded;
  }

  /** Makes from rows what the rules need. `loadFirst` adds messages that may be read twice, with their bodies. */
  #loadedOf(
    rows: LoadedRows,
    slices: SliceStatements,
    now: () => number,
    loadFirst: (set: WorkingSet) => void = () => {},
  ): Loaded {
    const counts = new Counts();
    const set = new WorkingSet(counts, now);
    for (const row of rows.inboxes)
      set.loadInbox(
        row.name,
        {
          messages: row.pending,
          bytes: row.bytes,
          scheduled: { messages: row.scheduled, bytes: row.scheduledBytes },
          headSeq: row.headSeq,
        },
        {
          holder: this.#holderOf(row.incarnation, rows.living),
          takenSeq: row.takenSeq,
          members: (row.members ?? []).flatMap(
            (incarnation) => this.#holderOf(incarnation, rows.living) ?? [],
          ),
        },
      );
    for (const { name, received, receivedBytes, sent, sentBytes } of rows.agents)
      counts.loadAgent(name, {
        received: { messages: received, bytes: receivedBytes },
        sent: { messages: sent, bytes: sentBytes },
      });
    for (const pair of rows.pairs) counts.loadPair(pair);
    loadFirst(set);
    for (const { message, claim } of rows.pending) set.load(message, 'pending', false, claim);
    return {
      set,
      counts,
      scheduled: new WorkingScheduledMessages(set, counts),
      dead: new WorkingDeadLetters(counts),
      sequence: sequenceOf(rows.numbers),
      slices,
      rows,
    };
  }

  #holderOf(incarnation: number | null, living: ReadonlySet<number>): Holder | undefined {
    if (incarnation === null) return undefined;
    if (incarnation === this.#cluster.incarnation) return { isThis: true };
    return living.has(incarnation) ? { isThis: false, incarnation } : undefined;
  }

  /**
   * Reads rows that are seldom needed: the scheduled messages of inboxes that have some, requests other than the message that their reply
   * settles, and slices that are newer than the last look.
   */
  async #loadMore(
    transaction: Transaction,
    plan: BatchPlan,
    loaded: Loaded,
    sliceRows: readonly Slice[],
  ): Promise<void> {
    const { set, scheduled } = loaded;
    const mayBeScheduled = plan.ids.filter(({ inbox }) => set.inbox(inbox).scheduled.messages > 0);
    const slices = this.#slices.use(sliceRows);
    const isNew = slices !== loaded.slices;
    loaded.slices = slices;
    const missed = requestKeys(missedRequests(plan, set));
    const keys = columnsOf(missed, 'inbox', 'id', 'sender');
    const settledKeys = isNew ? [...plan.ids, ...requestKeys(plan.requests)] : missed;
    const query = transaction.query.bind(transaction);
    const none = Promise.resolve([]);
    const [found, settled, pending, forgotten] = await Promise.all([
      mayBeScheduled.length > 0
        ? query<ScheduledRow>(this.#scheduledById, columnsOf(mayBeScheduled, 'inbox', 'id', 'sender'))
        : none,
      settledKeys.length > 0
        ? query<SettledRow & { slice: number }>(slices.byId, columnsOf(settledKeys, 'inbox', 'id', 'sender'))
        : none,
      missed.length > 0 ? query<MessageRow>(this.#byId, [...keys, missed.map(() => false)]) : none,
      missed.length > 0 ? query<ForgottenRow>(this.#forgotten, keys) : none,
    ]);
    for (const { sentAt, ...row } of found) scheduled.load(messageOf(row), sentAt);
    for (const row of pending) set.load(messageOf(row), 'pending', false);
    for (const { slice, ...row } of settled) set.load(settledMessageOf(row), slice, false);
    for (const row of forgotten) loadForgotten(set, row);
  }
}

/** Returns the requests that differ from the message that their reply settles, or that another change of the batch also changes. */
function missedRequests({ requests, places }: BatchPlan, set: WorkingSet): RequestKey[] {
  const times = new Map<number, number>();
  for (const { seq } of places) times.set(seq, (times.get(seq) ?? 0) + 1);
  return requests.filter(({ settles, id, requester }) => {
    const held = settles && set.get(settles.inbox, settles.seq);
    if (!settles) return false;
    return held?.id !== id || held.shared.sender !== requester || times.get(settles.seq) !== 1;
  });
}

function loadForgotten(
  set: WorkingSet,
  { seq, requester, id, inbox, isOver, openUntil, takers, details }: ForgottenRow,
): void {
  const { thread } = JSON.parse(details) as { thread?: string };
  set.loadForgotten(requester, id, inbox, { seq, isOver, openUntil, takers, thread });
}

type PendingRow = MessageRow & { wasOut: boolean; claim: number | null };
export type PairRow = { sender: string; recipient: string; messages: number; bytes: number };
type ScheduledRow = MessageRow & { sentAt: number };
type DeadRow = MessageRow & { deadAt: number; reason: string | null };

function hasAll(rows: readonly { name: string }[], names: ReadonlySet<string>): boolean {
  const found = new Set(rows.map(({ name }) => name));
  return [...names].every((name) => found.has(name));
}

function requestKeys(requests: readonly RequestKey[]): IdKey[] {
  return requests.flatMap((request) =>
    [...inboxesOf(request)].map((inbox) => ({ inbox, id: request.id, sender: request.requester })),
  );
}

/** Returns an array for each field, in the form that `unnest` requires. */
function columnsOf<T, Key extends keyof T>(rows: readonly T[], ...keys: Key[]): T[Key][][] {
  return keys.map((key) => rows.map((row) => row[key]));
}

function sequenceOf(numbers: readonly number[]): { next(): number } {
  let at = 0;
  return {
    next: () => {
      const number = numbers[at++];
      if (number === undefined) throw new Error('the transaction has drawn too few sequence numbers');
      return number;
    },
  };
}
