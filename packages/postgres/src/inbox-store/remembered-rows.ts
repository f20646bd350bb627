import type { LoggedMessage } from '@signalbox/store/rules';
import type { PostgresDatabase } from '../database/database.ts';
import type { AgentRow, InboxRow, Loaded, LoadedRows, PairRow } from './batch-loader.ts';
import type { BatchPlan } from './batch-plan.ts';
import { inboxChanges } from './batch-saver.ts';
import { pairKey } from './counts.ts';

/** The number of rows of each kind that are remembered at least, of those that there are. At most, it is twice as many. */
const fewestRows = 1000;

/**
 * The rows that a broker has read or written last, while it is alone on its schema: then nobody else changes them. A transaction whose rows
 * are all remembered need not read them. It has a guard that fails if another broker has begun an incarnation.
 */
export class RememberedRows {
  readonly #inboxes = new Recent<string, InboxRow>();
  readonly #agents = new Recent<string, AgentRow>();
  /** The amounts of pairs, also of those that have no row. */
  readonly #pairs = new Recent<string, PairRow>();
  /** Pending messages, without their bodies. */
  readonly #messages = new Recent<number, LoggedMessage>();
  /** The last epoch of all incarnations; undefined while nothing is remembered. */
  #lastEpoch: number | undefined;
  /** The incarnation of this broker alone. */
  #living: ReadonlySet<number> = new Set();
  /** The last sequence number, if it is known. */
  #lastNumber: number | undefined;
  /** The events after which nothing could be remembered, at the last transaction. */
  #unnoted = 0;
  /** True from the beginning of a transaction until it was committed. */
  #isOpen = false;

  /** Begins a transaction, of which {@link note} tells the changes. Returns the rows that it needs, if all of them are remembered. */
  begin(
    plan: BatchPlan,
    { unnoted, facts }: Pick<PostgresDatabase, 'unnoted' | 'facts'>,
  ): LoadedRows | undefined {
    // A pooler may go to another server without telling.
    if (this.#isOpen || unnoted !== this.#unnoted || facts.isPooled) this.#forget();
    this.#unnoted = unnoted;
    this.#isOpen = true;
    return this.#rowsOf(plan);
  }

  #forget(): void {
    if (this.#lastEpoch === undefined) return;
    this.#lastEpoch = undefined;
    this.#lastNumber = undefined;
    for (const rows of [this.#inboxes, this.#agents, this.#pairs, this.#messages]) rows.clear();
  }

  /** Notes that the transaction was committed. */
  note(plan: BatchPlan, { set, counts, rows }: Loaded): void {
    this.#isOpen = false;
    const isAlone = rows.living.size === 1;
    if (!isAlone || (this.#lastEpoch !== undefined && this.#lastEpoch !== rows.lastEpoch)) this.#forget();
    if (!isAlone) return;
    this.#living = rows.living;
    this.#lastEpoch = rows.lastEpoch;
    this.#lastNumber = rows.numbers.at(-1) ?? this.#lastNumber;
    for (const row of rows.inboxes) this.#inboxes.set(row.name, row);
    for (const { name, messages, bytes, later, laterBytes, headSeq } of inboxChanges(set)) {
      const row = this.#inboxes.get(name);
      if (!row) continue;
      this.#inboxes.set(name, {
        ...row,
        pending: row.pending + messages,
        bytes: row.bytes + bytes,
        scheduled: row.scheduled + later,
        scheduledBytes: row.scheduledBytes + laterBytes,
        headSeq,
        takenSeq: row.incarnation === null ? row.takenSeq : headSeq,
      });
    }
    for (const row of rows.agents) this.#agents.set(row.name, row);
    for (const [name, { received, sent }] of counts.agents) {
      const row = this.#agents.get(name);
      if (!row) continue;
      this.#agents.set(name, {
        name,
        received: row.received + received.messages,
        receivedBytes: row.receivedBytes + received.bytes,
        sent: row.sent + sent.messages,
        sentBytes: row.sentBytes + sent.bytes,
      });
    }
    const read = new Map(rows.pairs.map((row) => [pairKey(row.sender, row.recipient), row]));
    for (const [key, pair] of plan.pairs)
      this.#pairs.set(key, read.get(key) ?? { ...pair, messages: 0, bytes: 0 });
    for (const [key, { messages, bytes, ...pair }] of counts.pairs) {
      const row = this.#pairs.get(key);
      if (row) this.#pairs.set(key, { ...pair, messages: row.messages + messages, bytes: row.bytes + bytes });
    }
    for (const message of set.messages()) {
      const { place, ending, claim, shared, seq } = message;
      if (typeof place === 'number') continue;
      const isShared = claim !== undefined || set.inbox(shared.inbox).members.length > 0;
      if (ending || isShared) this.#messages.delete(seq);
      else this.#messages.set(seq, withoutBody(message));
    }
  }

  #rowsOf(plan: BatchPlan): LoadedRows | undefined {
    const { numbers, requests, places, ids } = plan;
    const [lastEpoch, last] = [this.#lastEpoch, this.#lastNumber];
    if (lastEpoch === undefined || plan.scheduled.length > 0 || plan.dead.length > 0) return undefined;
    if ((numbers > 0 && last === undefined) || requests.some(({ settles }) => !settles)) return undefined;
    const inboxes = all(plan.inboxes, this.#inboxes);
    const messages = all(
      places.map(({ seq }) => seq),
      this.#messages,
    );
    const pairs = all(plan.pairs.keys(), this.#pairs);
    if (!inboxes || !messages || !pairs || inboxes.some(({ members }) => members)) return undefined;
    if (ids.length > 0 && inboxes.some(({ scheduled }) => scheduled > 0)) return undefined;
    const senders = messages.flatMap(({ shared }) => (shared.isCounted ? [shared.sender] : []));
    const agents = all(new Set([...plan.agents, ...senders]), this.#agents);
    if (!agents) return undefined;
    const drawn = Array.from({ length: numbers }, (_, at) => last! + 1 + at);
    const pending = messages.map((message) => ({ message }));
    return { inboxes, agents, pairs, pending, numbers: drawn, living: this.#living, lastEpoch };
  }
}

/** Returns a pending message as it is loaded without its body. */
function withoutBody({
  seq,
  shared,
  id,
  attempts,
  answered,
  takers,
  ...message
}: LoggedMessage): LoggedMessage {
  const { correlationId, traceparent, group, thread, size } = message;
  const content = { seq, shared, id, correlationId, traceparent, group, thread, size, body: '' };
  return { ...content, attempts, answered, takers, ending: undefined };
}

/** Values by keys. Those that were set longest ago are dropped. */
class Recent<Key, Value> {
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  get(key: Key): Value | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: Key, value: Value): void {
    this.#newer.set(key, value);
    if (this.#newer.size < fewestRows) return;
    this.#older = this.#newer;
    this.#newer = new Map();
  }

  delete(key: Key): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#newer.clear();
    this.#older.clear();
  }
}

/** Returns the values of all keys, or `undefined` if one has none. */
function all<Key, Value>(keys: Iterable<Key>, values: Recent<Key, Value>): Value[] | undefined {
  const found: Value[] = [];
  for (const key of keys) {
    const value = values.get(key);
    if (value === undefined) return undefined;
    found.push(value);
  }
  return found;
}
