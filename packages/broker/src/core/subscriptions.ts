import type { Fault } from '@signalbox/serving';
import type { ClusterPort, InboxStore, JournalBound, JournalClaim } from '@signalbox/store';
import type { CommitQueue } from './commits/commit-queue.ts';
import type { Consumer } from './consumer.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { Attempts, Unfinished } from './endings/attempts.ts';
import { Lease, type LeaseOptions, type Member } from './leases/lease.ts';
import type { LeaseTable } from './leases/lease-table.ts';
import { isRequest } from './message-header.ts';
import type { Settler } from './settling/settler.ts';
import type { WaitingRequests } from './settling/waiting-requests.ts';

/** The options of a subscriber. */
export interface SubscribeOptions extends LeaseOptions {
  /** The generations of the execution journal in which the subscriber records its work. */
  journal?: JournalClaim;
}

/** The options of a member of a group. */
export type JoinOptions = SubscribeOptions & Required<Pick<LeaseOptions, 'member'>>;

/** A granted lease, with the number of messages in its inbox and the highest of their sequence numbers. */
export interface Subscription {
  lease: Lease;
  pending: number;
  headSeq: number;
  /** The binding of the inbox to the subscriber's journal; `undefined` without one. */
  journal: JournalBound | undefined;
}

/** The dependencies of {@link Subscriptions}. */
export interface SubscriptionsDeps {
  store: InboxStore;
  cluster: Pick<ClusterPort, 'take' | 'join' | 'giveBack'>;
  commits: CommitQueue;
  leases: LeaseTable;
  dispatcher: Dispatcher;
  settler: Settler;
  attempts: Attempts;
  waiting: WaitingRequests;
  now: () => number;
  fault: Fault | undefined;
  /** Returns a new id for a lease. */
  newLeaseId: () => string;
  /** Tells whether an operator holds an agent under a role. */
  isOnHold: (holder: Member) => boolean;
}

/** Grants leases on inboxes to consumers, and ends them. The newest subscriber of an inbox gets its lease. */
export class Subscriptions {
  readonly #deps: SubscriptionsDeps;
  /** The inboxes that are being given back. */
  readonly #givenBack = new Map<string, Promise<void>>();

  constructor(deps: SubscriptionsDeps) {
    this.#deps = deps;
  }

  /**
   * Gives a consumer the lease on an inbox; a previous holder loses it. The lease is valid at once, but nothing is pushed until {@link
   * start} is called. Resolves with `undefined` if the lease has ended meanwhile.
   */
  async subscribe(
    address: string,
    consumer: Consumer,
    options: SubscribeOptions,
  ): Promise<Subscription | undefined> {
    const { leases, attempts, newLeaseId } = this.#deps;
    const lease = new Lease(newLeaseId(), address, consumer, options);
    const held = leases.of(consumer);
    if (held?.isShared) this.#leaveGroup(held);
    this.#endOthers(address, lease);
    attempts.cameBack(address, lease);
    return this.#grant(lease, options.journal);
  }

  /**
   * Makes a consumer a member of a group. It shares the inbox of the group with the other members, also with those of other brokers, and
   * gets nothing until {@link start} is called. If it is a member already, only its window changes. A consumer that held the inbox alone
   * loses it. Resolves with `undefined` if the lease has ended meanwhile.
   */
  async join(address: string, consumer: Consumer, options: JoinOptions): Promise<Subscription | undefined> {
    const { leases, newLeaseId } = this.#deps;
    const held = leases.of(consumer);
    if (held?.isShared && held.address === address) {
      held.setWindow(options);
      held.isSilent = false;
      return this.#describe(held, options.journal);
    }
    if (held) this.end(consumer);
    const lease = new Lease(newLeaseId(), address, consumer, options);
    const previous = leases.at(address);
    if (previous) this.#takeOver(previous, lease);
    return this.#grant(lease, options.journal);
  }

  async #grant(lease: Lease, journal: JournalClaim | undefined): Promise<Subscription | undefined> {
    const { leases, isOnHold } = this.#deps;
    lease.isOnHold = lease.holder !== undefined && isOnHold(lease.holder);
    leases.add(lease);
    try {
      return await this.#describe(lease, journal);
    } catch (error) {
      // The subscriber is refused. A lease that never starts would keep messages from the next one.
      if (!lease.ended) leases.end(lease);
      this.#giveBack(lease.address);
      throw error;
    }
  }

  async #describe(lease: Lease, journal: JournalClaim | undefined): Promise<Subscription | undefined> {
    const { store, cluster, commits } = this.#deps;
    const { address } = lease;
    await commits.written();
    await this.#givenBack.get(address);
    // Inboxes are taken and bound in the order in which their leases were granted: the newest one comes last.
    if (lease.ended) return undefined;
    if (lease.isShared) await cluster.join(address);
    else lease.handedOutBefore = await cluster.take(address);
    if (lease.ended) return undefined;
    const [{ pending, headSeq }, bound] = await Promise.all([
      store.stats(address),
      journal && this.#bindJournal(address, journal),
    ]);
    return lease.ended ? undefined : { lease, pending, headSeq, journal: bound };
  }

  /** Begins to push the messages of a lease. The caller must have answered the subscriber. */
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
    if (lease.isShared) {
      this.#leaveGroup(lease);
      return;
    }
    const unfinished = this.#endLease(lease);
    this.#giveBack(lease.address);
    if (unfinished.length > 0) attempts.leftUnfinished(lease.address, lease, unfinished);
  }

  /** Ends the leases on an inbox that another broker has taken. That broker decides about the messages of their holders. */
  lost(address: string): void {
    const { leases } = this.#deps;
    const members = leases.ofGroup(address)?.members ?? [];
    const own = leases.at(address);
    for (const lease of own ? [own] : [...members]) {
      leases.end(lease);
      lease.isLost = true;
      lease.inFlight.clear();
      lease.consumer.send({ type: 'lease_lost', reason: 'taken_over' });
    }
  }

  /** Applies the current holds to the leases. */
  holdsChanged(): void {
    const { leases, dispatcher, isOnHold } = this.#deps;
    for (const lease of [...leases.all()]) {
      const isStopped = lease.holder !== undefined && isOnHold(lease.holder);
      if (isStopped !== lease.isOnHold) dispatcher.setOnHold(lease, isStopped);
    }
  }

  /**
   * Notes that the process with this token has ended. Its consumers have no leases any more, and the messages that it worked on count as
   * tried.
   */
  processEnded(tokenId: string): void {
    this.#deps.attempts.processEnded(tokenId);
  }

  /** Ends the leases of members that may no longer take messages of their group. The other members get their messages. */
  dropMembers(isMember: (group: string, role: string) => boolean): void {
    const { leases } = this.#deps;
    for (const lease of [...leases.all()]) {
      if (!lease.member || isMember(lease.address, lease.member.role)) continue;
      this.#leaveGroup(lease);
      lease.consumer.send({ type: 'lease_lost', reason: 'forbidden' });
    }
  }

  async #bindJournal(address: string, claim: JournalClaim): Promise<JournalBound> {
    const { store, fault } = this.#deps;
    fault?.('broker.journal.before_bind');
    const bound = await store.bindJournal(address, claim);
    fault?.('broker.journal.after_bind');
    return bound;
  }

  /** Ends the leases of the present holders of an inbox, because a consumer takes it for itself. */
  #endOthers(address: string, next: Lease): void {
    const { leases } = this.#deps;
    const previous = leases.at(address);
    if (previous) this.#takeOver(previous, next);
    for (const member of [...(leases.ofGroup(address)?.members ?? [])]) this.#takeOver(member, next);
  }

  #takeOver(previous: Lease, next: Lease): void {
    const unfinished = this.#endLease(previous);
    if (previous.consumer === next.consumer) return;
    this.#deps.attempts.takenOver(previous, unfinished, next);
    previous.consumer.send({ type: 'lease_lost', reason: 'taken_over' });
  }

  /** Ends the lease of a member of a group. The other members get the messages that it had. */
  #leaveGroup(lease: Lease): void {
    const { attempts, dispatcher } = this.#deps;
    const had = [...lease.inFlight].filter(([, { ended, cancelled }]) => !ended && !cancelled);
    this.#endLease(lease);
    for (const [seq, message] of had) {
      const isAgain = !message.working || attempts.memberLost(seq, message, lease);
      if (isAgain) dispatcher.handOutAgain(lease.address, seq);
    }
    this.#giveBack(lease.address);
  }

  /**
   * Gives an inbox back to the cluster if no consumer holds it any more, after all changes of its messages are written. Members that come
   * meanwhile join it again, because the messages of the earlier members are no longer known.
   */
  #giveBack(address: string): void {
    const { leases, cluster, commits } = this.#deps;
    if (leases.isLeased(address)) return;
    const giveBack = (): void => {
      if (this.#givenBack.get(address) === given) this.#givenBack.delete(address);
      if (!leases.at(address)) cluster.giveBack(address);
    };
    const given = commits.written().then(giveBack, giveBack);
    this.#givenBack.set(address, given);
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
