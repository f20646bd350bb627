import type { MessageFrame } from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';
import type { ClusterPort, InboxStore, NewMessage, Retried } from '@signalbox/store';
import { passOn, receive } from '../cluster/live-lane.ts';
import { CommitQueue } from './commits/commit-queue.ts';
import { WrittenMessages } from './commits/written-messages.ts';
import type { Consumer } from './consumer.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { AttemptHistories } from './endings/attempt-histories.ts';
import { Attempts } from './endings/attempts.ts';
import { Cancellations } from './endings/cancellations.ts';
import { Deadlines } from './endings/deadlines.ts';
import { HandedOutMessages } from './handed-out-messages.ts';
import type { InFlightMessage, Lease } from './leases/lease.ts';
import { LeaseTable } from './leases/lease-table.ts';
import { isAnswer } from './message-header.ts';
import type { Meter } from './meter.ts';
import type { Producer } from './producer.ts';
import { Releases } from './scheduled/releases.ts';
import { Discards } from './settling/discards.ts';
import { Settler } from './settling/settler.ts';
import { WaitingRequests } from './settling/waiting-requests.ts';
import { Subscriptions, type SubscriptionsDeps } from './subscriptions.ts';
import type { Tail } from './tail.ts';
import type { ExpiryClock } from './time/expiry-clock.ts';

/** The dependencies of {@link Delivery}. */
export interface DeliveryDeps {
  store: InboxStore;
  /** The brokers on the store. */
  cluster: ClusterPort;
  time: ExpiryClock;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** Returns a new id for a lease. */
  newLeaseId: () => string;
  /** Tells whether an operator holds an agent under a role. By default no agent is held. */
  isOnHold?: SubscriptionsDeps['isOnHold'];
  /** The number of failed attempts after which a message becomes a dead letter. */
  maxDeliver: number;
  /** Called if background work fails. */
  onError: (error: unknown) => void;
  /** Called once if messages can't be made durable any more. From then on their producers get no answers. */
  onStoreFailed: (error: unknown) => void;
  fault: Fault | undefined;
  tail: Tail;
  meter: Meter;
}

/** The sequence numbers of an ack or nack: `accepted` if the consumer held the message, else `rejected`. */
export interface AckResult {
  accepted: number[];
  rejected: number[];
}

/** The options of a nack. The message is pushed again after `delayMs` milliseconds, unless it is `dead`. */
export interface NackOptions {
  delayMs: number;
  dead: boolean;
  /** True if it is a failed attempt of the message. */
  counts: boolean;
  reason?: string;
}

/** The longest wait of a settlement for others to share its commit, in milliseconds. */
const lazyMs = 4;

/**
 * The entrance to the core. {@link deliver} stores a message and pushes it to the consumer that holds its inbox ({@link subscriptions}),
 * which acks or nacks it. The core knows neither sockets nor permissions.
 */
export class Delivery {
  /** Grants and ends the leases of consumers. */
  readonly subscriptions: Subscriptions;
  /** Cancels requests. */
  readonly cancellations: Cancellations;
  /** Gives up messages whose time is over. Its methods must be called repeatedly. */
  readonly deadlines: Deadlines;
  /** Brings scheduled messages into their inboxes. */
  readonly releases: Releases;
  /** Answers questions about the messages that consumers hold or left behind. */
  readonly held: HandedOutMessages;
  readonly #deps: DeliveryDeps;
  readonly #store: InboxStore;
  readonly #leases = new LeaseTable();
  readonly #waiting = new WaitingRequests();
  readonly #commits: CommitQueue;
  readonly #settler: Settler;
  readonly #discards: Discards;
  readonly #dispatcher: Dispatcher;
  readonly #attempts: Attempts;

  constructor(deps: DeliveryDeps) {
    const { store, cluster, time, monotonic, onError, onStoreFailed, fault, tail, meter, maxDeliver } = deps;
    const { now } = time;
    const [leases, waiting] = [this.#leases, this.#waiting];
    const commits = new CommitQueue(store, {
      onError,
      onStoreFailed,
      lazyMs,
      meter,
      monotonic,
      fault,
    });
    const settler = new Settler({
      commits,
      onEnded: (inbox, seq) => dispatcher.ended(inbox, seq),
      waiting,
      isKnownNotHandedOut: cluster.isAlone
        ? undefined
        : (inbox, seq) => leases.at(inbox)?.hasNotHandedOut(seq) ?? false,
      tail,
      meter,
      now,
    });
    const histories = new AttemptHistories();
    const dispatcher = new Dispatcher({
      cluster,
      commits,
      leases,
      settler,
      waiting,
      time,
      histories,
      monotonic,
      onError,
      fault,
      tail,
      meter,
    });
    const { redeliveries } = dispatcher;
    const attempts = new Attempts({
      commits,
      settler,
      redeliveries,
      waiting,
      maxDeliver,
      time,
      histories,
      monotonic,
    });
    this.#deps = deps;
    this.#store = store;
    this.#commits = commits;
    this.#settler = settler;
    const discards = new Discards({ store, commits, settler });
    this.#discards = discards;
    this.#dispatcher = dispatcher;
    this.#attempts = attempts;
    this.subscriptions = new Subscriptions({
      store,
      cluster,
      commits,
      leases,
      dispatcher,
      settler,
      attempts,
      waiting,
      now,
      fault,
      newLeaseId: deps.newLeaseId,
      isOnHold: deps.isOnHold ?? (() => false),
    });
    cluster.listen({
      wake: (inbox) => dispatcher.wake(inbox),
      came: (inbox, message, after) => dispatcher.came(inbox, message, after),
      freed: (inbox, seqs) => dispatcher.freed(inbox, seqs),
      lost: (inbox) => this.subscriptions.lost(inbox),
      told: (_inbox, message) =>
        receive(message, { push: (frame, body) => void this.#pushEphemeral(frame, body) }),
      cancelled: (requests) => this.cancellations.told(requests),
    });
    this.held = new HandedOutMessages({ store, commits, leases, histories });
    this.cancellations = new Cancellations({
      store,
      isAlone: cluster.isAlone,
      commits,
      leases,
      settler,
      tail,
      meter,
      monotonic,
      onError,
    });
    this.releases = new Releases({
      scheduled: store.scheduled,
      commits,
      isLeased: (inbox) => leases.isLeased(inbox),
      isAlone: cluster.isAlone,
      time,
      onError,
    });
    commits.listen(
      new WrittenMessages({
        cancellations: this.cancellations,
        discards,
        dispatcher,
        releases: this.releases,
        settler,
        time,
        onError,
        tail,
        meter,
      }),
    );
    this.deadlines = new Deadlines({
      store,
      leases,
      dispatcher,
      settler,
      attempts,
      waiting,
      time,
      monotonic,
    });
  }

  /**
   * Stores a message. It is pushed when it is written, and its producer is answered when it is durable. Returns a promise only if the disk
   * can't keep up; then the producer should deliver nothing more until it resolves.
   */
  deliver(message: NewMessage, producer: Producer): Promise<undefined> | undefined {
    const isLeased = message.copies !== undefined || this.#leases.isLeased(message.inbox);
    if (this.#commits.append(message, producer, isLeased)) return undefined;
    const ignore = (): undefined => undefined;
    // The producer learns from its answer whether the commit failed.
    return this.#commits.written().then(ignore, ignore);
  }

  /**
   * Pushes a message without storing it to the holder of its inbox, perhaps at another broker. Returns or resolves with false if no
   * consumer holds the inbox.
   */
  deliverEphemeral(frame: MessageFrame, body: string | undefined): boolean | Promise<boolean> {
    const { to, from } = frame;
    const shared = this.#leases.ofGroup(to);
    if (this.#leases.at(to) || shared?.ownerOf(from.agent)) return this.#pushEphemeral(frame, body);
    const passedOn = passOn(this.#deps.cluster, frame, body);
    if (!shared) return passedOn;
    const pushOrNot = (isElsewhere: boolean): boolean => isElsewhere || this.#pushEphemeral(frame, body);
    return passedOn === false ? pushOrNot(false) : passedOn.then(pushOrNot);
  }

  #pushEphemeral(frame: MessageFrame, body: string | undefined): boolean {
    const lease = this.#leases.at(frame.to) ?? this.#leases.ofGroup(frame.to)?.anyFor(frame.from.agent);
    if (!lease?.started || (lease.isOnHold && !isAnswer(frame.kind))) return false;
    lease.consumer.pushEphemeral(frame, body);
    return true;
  }

  /**
   * Notes that a consumer works on messages, and renews their ack deadlines. If the consumer is lost from now on, that is a failed attempt.
   * `traceparent` names the attempt.
   */
  working(consumer: Consumer, seqs: readonly number[], traceparent?: string): void {
    const lease = this.#leases.of(consumer);
    if (!lease) return;
    const now = this.#deps.monotonic();
    for (const seq of seqs) {
      const message = lease.inFlight.get(seq);
      if (!message) continue;
      message.working = true;
      message.renewedAt = now;
      if (traceparent !== undefined) message.attemptTrace = traceparent;
    }
    this.#dispatcher.heard(lease);
  }

  /** Notes that a consumer settles a message that it no longer has: the consumer is not silent. */
  heardLate(consumer: Consumer): void {
    const lease = this.#leases.of(consumer);
    if (lease) this.#dispatcher.heard(lease);
  }

  /** Settles messages that this consumer holds as `acked`. Other sequence numbers are rejected and change nothing. */
  ack(consumer: Consumer, seqs: readonly number[]): AckResult {
    return this.#releaseAll(consumer, seqs, (seq, message, lease) => {
      if (!message.ended) this.#settler.ack(seq, message);
      if (lease.isShared) this.#dispatcher.ended(lease.address, seq);
    });
  }

  /**
   * Gives back messages that this consumer holds. After too many attempts that count, a message becomes a dead letter.
   */
  nack(consumer: Consumer, seqs: readonly number[], options: NackOptions): AckResult {
    const how = { ...options, reason: options.reason ?? 'no reason given' };
    return this.#releaseAll(consumer, seqs, (seq, message, holder) =>
      this.#attempts.givenBack(seq, message, { ...how, holder }),
    );
  }

  /** Puts a dead letter back into its inbox, as a new message that lives as long as before, and at least `leastMs`. */
  async retryDead(seq: number, leastMs = 0): Promise<Retried> {
    const retried = await this.#store.dead.retry(seq, this.#deps.time.now(), leastMs);
    if (retried.result === 'stored') this.#dispatcher.wake(retried.inbox);
    return retried;
  }

  /** Discards messages to configured senders that were left when the broker last ended. */
  async discardLeftovers(): Promise<void> {
    await this.#discards.allLeft();
  }

  /** The number of current leases. */
  get leaseCount(): number {
    return this.#leases.size;
  }

  /** Returns those of some inboxes that other brokers hold. */
  leasedElsewhere(inboxes: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#deps.cluster.leasedElsewhere(inboxes);
  }

  /** Tells whether a consumer of this broker holds the inbox now, or takes messages of the group. */
  isLeased(address: string): boolean {
    return this.#leases.isLeased(address);
  }

  /** Returns the lease that this consumer holds now. */
  leaseOf(consumer: Consumer): Pick<Lease, 'address' | 'isShared' | 'isLost'> | undefined {
    return this.#leases.of(consumer);
  }

  /** Returns the consumer of this broker that holds an agent's inbox. */
  holderOf(address: string): Consumer | undefined {
    return this.#leases.at(address)?.consumer;
  }

  /** Returns a message that was pushed to this consumer and is not settled. */
  inFlight(consumer: Consumer, seq: number): InFlightMessage | undefined {
    return this.#leases.of(consumer)?.inFlight.get(seq);
  }

  /** Resolves when all messages, settlements and takings so far are written. */
  written(): Promise<void> {
    return this.#commits.written();
  }

  /** Resolves when all messages and settlements so far are durable. */
  flushed(): Promise<void> {
    return this.#commits.flushed();
  }

  /**
   * Commits and answers the waiting messages. Nothing is pushed and no attempt is counted afterwards. When it resolves, no commit is
   * running.
   */
  async close(): Promise<void> {
    this.deadlines.close();
    this.#discards.close();
    await this.releases.close();
    this.#dispatcher.close();
    while (this.#commits.isBusy) await this.#commits.flushed().catch(this.#deps.onError);
  }

  #releaseAll(
    consumer: Consumer,
    seqs: readonly number[],
    act: (seq: number, message: InFlightMessage, lease: Lease) => void,
  ): AckResult {
    const lease = this.#leases.of(consumer);
    if (!lease) return { accepted: [], rejected: [...seqs] };
    const accepted: number[] = [];
    const rejected: number[] = [];
    for (const seq of seqs) {
      const message = lease.release(seq);
      if (message) {
        act(seq, message, lease);
        accepted.push(seq);
      } else rejected.push(seq);
    }
    this.#dispatcher.released(lease, accepted);
    this.#dispatcher.heard(lease);
    return { accepted, rejected };
  }
}
