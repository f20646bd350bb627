import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { idKey, isAtPlace, sliceName } from '../schema.ts';
import type { Loaded } from './batch-loader.ts';
import type { KeptBodyTable } from './kept-body-table.ts';
import {
  insertMessages,
  insertPending,
  messageValues,
  pendingValues,
  settledValues,
  textOf,
} from './message-rows.ts';
import type { WorkingMessage, WorkingSet } from './working-set.ts';

/** Writes the changes of a transaction, with one statement for each table. */
export class BatchSaver {
  readonly #database: PostgresDatabase;
  readonly #kept: KeptBodyTable;
  readonly #insert: Statement;
  readonly #insertScheduled: Statement;
  readonly #insertDead: Statement;
  readonly #update: Statement;
  readonly #dropScheduled: Statement;
  readonly #dropDead: Statement;
  readonly #close: Statement;
  readonly #dropClaims: Statement;
  readonly #inboxes: Statement;
  readonly #agents: Statement;
  readonly #pairs: Statement;

  constructor(database: PostgresDatabase, kept: KeptBodyTable) {
    this.#database = database;
    this.#kept = kept;
    this.#insert = database.statement(insertPending);
    this.#insertScheduled = database.statement(insertMessages('scheduled', [['sent_at', 'bigint']]));
    this.#insertDead = database.statement(
      insertMessages('dead_letter', [
        ['dead_at', 'bigint'],
        ['reason', 'text'],
      ]),
    );
    this.#update = database.statement(
      `UPDATE @message m SET attempts = k.attempts, answered = k.answered, takers = string_to_array(k.takers, ' '),
         is_cancelled = m.is_cancelled OR k.is_cancelled
       FROM unnest($1::text[], $2::bigint[], $3::int[], $4::boolean[], $5::text[], $6::boolean[])
         AS k(inbox, seq, attempts, answered, takers, is_cancelled)
       WHERE ${isAtPlace('m', 'k')}`,
    );
    this.#dropScheduled = database.statement('DELETE FROM @scheduled WHERE seq = ANY($1::bigint[])');
    this.#dropDead = database.statement('DELETE FROM @dead_letter WHERE seq = ANY($1::bigint[])');
    this.#close = database.statement('UPDATE @open_request SET is_over = true WHERE seq = ANY($1::bigint[])');
    this.#dropClaims = database.statement(
      `DELETE FROM @claim c USING unnest($1::text[], $2::bigint[]) AS k(inbox, seq) WHERE ${isAtPlace('c', 'k')}`,
    );
    this.#inboxes = database.statement(
      `UPDATE @inbox i SET pending = pending + k.messages, bytes = i.bytes + k.bytes, scheduled = scheduled + k.later,
         scheduled_bytes = scheduled_bytes + k.later_bytes, head_seq = k.head_seq,
         taken_seq = CASE WHEN i.incarnation IS NULL THEN i.taken_seq ELSE k.head_seq END
       FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
         AS k(name, messages, bytes, later, later_bytes, head_seq)
       WHERE i.name = k.name`,
    );
    this.#agents = database.statement(
      `UPDATE @agent a SET received = a.received + k.received, received_bytes = a.received_bytes + k.received_bytes,
         sent = a.sent + k.sent, sent_bytes = a.sent_bytes + k.sent_bytes
       FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS k(name, received, received_bytes, sent, sent_bytes)
       WHERE a.name = k.name`,
    );
    this.#pairs = database.statement(
      `INSERT INTO @sent_to AS p SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
       ON CONFLICT (sender, recipient) DO UPDATE SET messages = p.messages + excluded.messages, bytes = p.bytes + excluded.bytes`,
    );
  }

  /** Sends the statements. Messages are settled at `now`, in epoch milliseconds. */
  save(transaction: Transaction, { set, counts, scheduled, dead, slices }: Loaded, now: number): void {
    const messages = [...set.messages()];
    this.#saveMessages(transaction, messages);
    this.#kept.save(
      transaction,
      messages.filter(({ place }) => place === 'new'),
    );
    this.#settle(transaction, messages, slices.settle, now);
    const ended = messages.filter(({ place, ending }) => place === 'new' && ending);
    if (ended.length > 0) transaction.write(slices.add, settledValues(ended));
    this.#answer(transaction, messages);
    if (set.closed.size > 0) transaction.write(this.#close, [[...set.closed]]);
    const later = [...scheduled.messages()].filter(({ isNew }) => isNew);
    if (later.length > 0)
      transaction.write(
        this.#insertScheduled,
        messageValues(
          later.map(({ message }) => message),
          [later.map(({ sentAt }) => sentAt)],
        ),
      );
    if (scheduled.dropped.length > 0) transaction.write(this.#dropScheduled, [scheduled.dropped]);
    if (dead.dropped.length > 0) transaction.write(this.#dropDead, [dead.dropped]);
    this.#saveInboxes(transaction, set);
    this.#saveCounts(transaction, counts);
  }

  #saveMessages(transaction: Transaction, messages: readonly WorkingMessage[]): void {
    const added = messages.filter(({ place, ending }) => place === 'new' && !ending);
    if (added.length > 0) transaction.write(this.#insert, pendingValues(added));
    const changed = messages.filter(({ place, isChanged }) => place === 'pending' && isChanged);
    if (changed.length === 0) return;
    transaction.write(this.#update, [
      changed.map(({ shared }) => shared.inbox),
      changed.map(({ seq }) => seq),
      changed.map(({ attempts }) => attempts),
      changed.map(({ answered }) => answered),
      changed.map(({ takers }) => takers?.join(' ') ?? null),
      changed.map(({ isCancelled }) => isCancelled ?? false),
    ]);
  }

  #settle(
    transaction: Transaction,
    messages: readonly WorkingMessage[],
    statement: Statement,
    now: number,
  ): void {
    const settled = messages.filter(({ place, isSettled }) => place === 'pending' && isSettled);
    if (settled.length > 0)
      transaction.write(statement, [
        settled.map(({ shared }) => shared.inbox),
        settled.map(({ seq }) => seq),
        settled.map(({ ending }) => ending?.outcome ?? null),
        settled.map(({ ending }) => textOf(ending?.reason ?? null)),
        settled.map(({ answered }) => answered),
        now,
      ]);
    const claimed = settled.filter(({ claim }) => claim);
    if (claimed.length > 0)
      transaction.write(this.#dropClaims, [
        claimed.map(({ shared }) => shared.inbox),
        claimed.map(({ seq }) => seq),
      ]);
    const dead = messages.filter(({ place, ending }) => place === 'new' && ending?.outcome === 'dead');
    if (dead.length > 0)
      transaction.write(
        this.#insertDead,
        messageValues(dead, [dead.map(() => now), dead.map(({ ending }) => textOf(ending?.reason ?? null))]),
      );
  }

  /** Marks messages of slices as answered, which happens when a request was settled before its reply came. */
  #answer(transaction: Transaction, messages: readonly WorkingMessage[]): void {
    for (const { place, isChanged, shared, id, seq } of messages) {
      if (typeof place !== 'number' || !isChanged) continue;
      const text = `UPDATE @${sliceName(place)} SET answered = true WHERE ${idKey('')} = $1 AND seq = $2`;
      const key = `${shared.inbox} ${id} ${shared.sender}`;
      transaction.write(this.#database.unnamed(text), [key, seq]);
    }
  }

  #saveInboxes(transaction: Transaction, set: WorkingSet): void {
    const changes = inboxChanges(set);
    if (changes.length === 0) return;
    transaction.write(this.#inboxes, [
      changes.map(({ name }) => name),
      changes.map(({ messages }) => messages),
      changes.map(({ bytes }) => bytes),
      changes.map(({ later }) => later),
      changes.map(({ laterBytes }) => laterBytes),
      changes.map(({ headSeq }) => headSeq),
    ]);
  }

  #saveCounts(transaction: Transaction, { agents, pairs }: Loaded['counts']): void {
    const changed = [...agents].filter(
      ([, { received, sent }]) => received.messages || received.bytes || sent.messages || sent.bytes,
    );
    if (changed.length > 0)
      transaction.write(this.#agents, [
        changed.map(([name]) => name),
        changed.map(([, { received }]) => received.messages),
        changed.map(([, { received }]) => received.bytes),
        changed.map(([, { sent }]) => sent.messages),
        changed.map(([, { sent }]) => sent.bytes),
      ]);
    const pairChanges = [...pairs.values()].filter(({ messages, bytes }) => messages || bytes);
    if (pairChanges.length > 0)
      transaction.write(this.#pairs, [
        pairChanges.map(({ sender }) => sender),
        pairChanges.map(({ recipient }) => recipient),
        pairChanges.map(({ messages }) => messages),
        pairChanges.map(({ bytes }) => bytes),
      ]);
  }
}

/** Returns how a transaction changed the rows of inboxes, without those that it left as they were. */
export function inboxChanges(set: WorkingSet): {
  name: string;
  headSeq: number;
  messages: number;
  bytes: number;
  later: number;
  laterBytes: number;
}[] {
  return [...set.inboxes()]
    .filter(
      ({ messages, bytes, scheduled, headSeq, before }) =>
        messages !== before.messages ||
        bytes !== before.bytes ||
        scheduled.messages !== before.scheduled.messages ||
        scheduled.bytes !== before.scheduled.bytes ||
        headSeq !== before.headSeq,
    )
    .map(({ name, messages, bytes, scheduled, headSeq, before }) => ({
      name,
      headSeq,
      messages: messages - before.messages,
      bytes: bytes - before.bytes,
      later: scheduled.messages - before.scheduled.messages,
      laterBytes: scheduled.bytes - before.scheduled.bytes,
    }));
}
