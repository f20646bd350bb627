import type { InboxCluster, Tenure } from '../cluster/postgres-cluster.ts';
import { cancelledSeq, type WakeUp } from '../cluster/wake-ups.ts';
import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';
import { groupKey } from '../schema.ts';
import type { Holders, WorkingSet } from './working-set.ts';

/** Tells brokers which inboxes that they hold or share a transaction has changed. */
export class ToldBrokers {
  readonly #cluster: InboxCluster;
  readonly #nextOfKeys: Statement;

  constructor(database: PostgresDatabase, cluster: InboxCluster) {
    this.#cluster = cluster;
    this.#nextOfKeys = database.statement(
      `SELECT k.inbox, m.seq FROM unnest($1::text[], $2::text[]) AS k(inbox, key) CROSS JOIN LATERAL (
         SELECT m.seq FROM @message m WHERE m.group_key IS NOT NULL AND ${groupKey('m.')} = (k.inbox || ' ' || k.key) ORDER BY m.seq LIMIT 1
       ) AS m`,
    );
  }

  /**
   * Writes in a transaction, after its changes, at which inboxes other brokers must look. Returns a function to call after the commit.
   * `tenures` are those of this broker before the transaction.
   */
  async write(
    transaction: Transaction,
    set: WorkingSet,
    tenures: ReadonlyMap<string, Tenure>,
  ): Promise<() => void> {
    const cluster = this.#cluster;
    const freed = await this.#freed(transaction, set);
    const woken: WakeUp[] = [];
    const grown = [...set.inboxes()].filter(({ headSeq, before }) => headSeq !== before.headSeq);
    const held = grown.filter(({ holder }) => holder?.isThis === false);
    const stored = held.length > 0 ? storedIn(set, new Set(held.map(({ name }) => name))) : undefined;
    for (const { name: inbox, ...holders } of grown)
      for (const incarnation of othersOf(holders))
        woken.push({ incarnation, inbox, stored: stored?.get(inbox) ?? [] });
    for (const { inbox, seq } of freed)
      for (const incarnation of othersOf(set.inbox(inbox))) woken.push({ incarnation, inbox, seq });
    for (const { isCancelled, shared, claim } of set.messages()) {
      const { inbox } = shared;
      const by = claim?.holder ?? set.inbox(inbox).holder;
      if (isCancelled && by?.isThis === false)
        woken.push({ incarnation: by.incarnation, inbox, seq: cancelledSeq });
    }
    const notify = cluster.wakeUps.write(transaction, woken);
    return () => {
      notify();
      for (const { inbox, seq } of freed) cluster.freed(inbox, [seq]);
      for (const inbox of set.fenced) cluster.lost(inbox, tenures.get(inbox));
      for (const { isSettled, shared, seq } of set.messages())
        if (isSettled) cluster.settled(shared.inbox, seq);
    };
  }

  /** Returns the messages of shared inboxes that are the next of their keys, because the previous one has ended. */
  async #freed(transaction: Transaction, set: WorkingSet): Promise<{ inbox: string; seq: number }[]> {
    const inboxes: string[] = [];
    const keys: string[] = [];
    for (const { isSettled, place, shared, group } of set.messages()) {
      if (!isSettled || place !== 'pending' || group?.key === undefined) continue;
      if (set.inbox(shared.inbox).members.length === 0) continue;
      inboxes.push(shared.inbox);
      keys.push(group.key);
    }
    if (keys.length === 0) return [];
    return transaction.query<{ inbox: string; seq: number }>(this.#nextOfKeys, [inboxes, keys]);
  }
}

type Stored = NonNullable<WakeUp['stored']>[number];

/** Returns the messages that a transaction has stored in these inboxes and not settled. */
function storedIn(set: WorkingSet, inboxes: ReadonlySet<string>): Map<string, Stored[]> {
  const stored = new Map<string, Stored[]>();
  for (const message of set.messages()) {
    const { inbox } = message.shared;
    if (message.place !== 'new' || message.isSettled || !inboxes.has(inbox)) continue;
    const { place: _place, isChanged: _isChanged, isSettled: _isSettled, after = 0, ...logged } = message;
    const all = stored.get(inbox);
    if (all) all.push({ message: logged, after });
    else stored.set(inbox, [{ message: logged, after }]);
  }
  return stored;
}

/** Returns the incarnations of the other brokers that hold or share an inbox. */
function othersOf({ holder, members }: Pick<Holders, 'holder' | 'members'>): number[] {
  return [holder, ...members].flatMap((one) => (one?.isThis === false ? [one.incarnation] : []));
}
