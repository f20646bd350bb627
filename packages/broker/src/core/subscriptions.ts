import type { Fault } from '@signalbox/protocol';
import type { InboxStore, JournalClaim } from '@signalbox/store';
import type { CommitQueue } from './commits/commit-queue.ts';
import type { Consumer } from './consumer.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { Attempts, Unfinished } from './endings/attempts.ts';
import { Lease, type LeaseOptions } from './leases/lease.ts';
import type { LeaseTable } from './leases/lease-table.ts';
import { isRequest } from './message-header.ts';
import type { Settler } from './settling/settler.ts';
import type { WaitingRequests } from './settling/waiting-requests.ts';

/** The options of a subscriber. */
export interface SubscribeOptions extends LeaseOptions {
  /** The generations of the execution journal in which the subscriber notes what it has done. */
  journal?: JournalClaim;
}

/** A lease that was granted, with the number of messages in its inbox and the highest of their sequence numbers. */
export interface Subscription {
  lease: Lease;
  pending: number;
  headSeq: number;
  /** The sequence number up to which messages are foreign to the subscriber's journal, 0 for none. */
  foreignUpTo: number;
}

/** The dependencies of {@link Subscriptions}. */
export interface SubscriptionsDeps {
  store: InboxStore;
  commits: CommitQueue;
  leases: LeaseTable;
  dispatcher: Dispatcher;
  settler: Settler;
  attempts: Attempts;
  waiting: WaitingRequests;
  now: () => number;
  fault: Fault;
  /** Returns a new id for a lease. */
  newLeaseId: () => string;
}

/** Grants leases on inboxes to consumers, and ends them. The newest subscriber of an inbox gets its lease. */
export class Subscriptions {
  readonly #deps: SubscriptionsDeps;

  constructor(deps: SubscriptionsDeps) {
    this.#deps = deps;
  }

  /**
   * Gives a consumer the lease on an inbox; a previous holder loses it. The lease is in force at once, but nothing is pushed before
   * {@link start}. Resolves with `undefined` if the lease has ended meanwhile.
   */
  async subscribe(
    address: string,
    consumer: Consumer,
    options: SubscribeOptions,
  ): Promise<Subscription | undefined> {
    const { store, commits, leases, attempts, newLeaseId } = this.#deps;
    const lease = new Lease(newLeaseId(), address, consumer, options);
    const previous = leases.at(address);
    if (previous) this.#takeOver(previous, lease);
    attempts.cameBack(address, lease);
    leases.add(lease);
    try {
      await commits.written();
      // An inbox is bound in the order in which its leases were granted: the newest one binds it last.
      if (lease.ended) return undefined;
      const [{ pending, headSeq }, foreignUpTo] = await Promise.all([
        store.stats(address),
        options.journal ? this.#bindJournal(address, options.journal) : 0,
      ]);
      return lease.ended ? undefined : { lease, pending, headSeq, foreignUpTo };
    } catch (error) {
      // The subscriber is refused. A lease that never starts would keep messages from the next one.
      if (!lease.ended) leases.end(lease);
      throw error;
    }
  }

  /** Begins to push the messages of a lease. The caller has answered the subscriber before. */
  start(lease: Lease): void {
    lease.started = true;
    this.#deps.dispatcher.pump(lease);
  }

  /** Continues to push to a consumer that is writable again. */
  resume(consumer: Consumer): void {
    const { leases, dispatcher } = this.#deps;
    const lease = leases.of(consumer);
    if (lease) dispatcher.pump(lease);
  }

  /** Ends the lease of a consumer, if it has one. Its unsettled messages wait for the next holder. */
  end(consumer: Consumer): void {
    const { leases, attempts } = this.#deps;
    const lease = leases.of(consumer);
    if (!lease) return;
    const unfinished = this.#endLease(lease);
    if (unfinished.length > 0) attempts.leftUnfinished(lease.address, lease, unfinished);
  }

  /** Notes that the process with this token has ended. Its consumers have no leases any more, and what they worked on was tried. */
  processEnded(tokenId: string): void {
    this.#deps.attempts.processEnded(tokenId);
  }

  async #bindJournal(address: string, claim: JournalClaim): Promise<number> {
    const { store, fault } = this.#deps;
    fault('broker.journal.before_bind');
    const foreignUpTo = await store.bindJournal(address, claim);
    fault('broker.journal.after_bind');
    return foreignUpTo;
  }

  #takeOver(previous: Lease, next: Lease): void {
    const unfinished = this.#endLease(previous);
    if (previous.consumer === next.consumer) return;
    this.#deps.attempts.takenOver(previous, unfinished, next);
    previous.consumer.send({ type: 'lease_lost', reason: 'taken_over' });
  }

  /** Ends a lease. Returns the unsettled messages that its holder worked on. */
  #endLease(lease: Lease): Unfinished {
    const { leases, settler, waiting, now } = this.#deps;
    const at = now();
    const unfinished: Unfinished = [];
    leases.end(lease);
    for (const [seq, message] of lease.inFlight) {
      if (message.ended) continue;
      if (message.cancelled) settler.cancel(seq, message);
      else {
        const { inbox, createdAt, expiresAt, kind } = message;
        if (isRequest(kind)) waiting.add({ inbox, seq, createdAt, expiresAt, wasPushed: true }, at);
        if (message.working) unfinished.push([seq, message]);
      }
    }
    lease.inFlight.clear();
    return unfinished;
  }
}
