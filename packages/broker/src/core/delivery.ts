import type { Fault, MessageFrame, Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage, Retried } from '@signalbox/store';
import { CommitQueue } from './commits/commit-queue.ts';
import type { Consumer } from './consumer.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { Attempts, type Unfinished } from './endings/attempts.ts';
import { Cancellations } from './endings/cancellations.ts';
import { Deadlines } from './endings/deadlines.ts';
import { HeldMessages } from './held-messages.ts';
import { type InFlightMessage, Lease, type LeaseOptions } from './leases/lease.ts';
import { LeaseTable } from './leases/lease-table.ts';
import { headerOfNew, isRequest } from './message-header.ts';
import type { DeliverResult, Producer } from './producer.ts';
import { Settler } from './settling/settler.ts';
import { WaitingRequests } from './settling/waiting-requests.ts';
import type { Tail } from './tail.ts';

export interface DeliveryOptions {
  store: InboxStore;
  now: () => number;
  newLeaseId: () => string;
  /** After so many failed tries a message becomes a dead letter. */
  maxDeliver: number;
  onError: (error: unknown) => void;
  /** Told once when messages can't be made durable any more. Their producers get no answer, and never will. */
  onStoreFailed: (error: unknown) => void;
  fault: Fault;
  tail: Tail;
}

export interface SubscribeOptions extends LeaseOptions {
  journalId?: string;
}

/** A lease that was granted, and what its inbox held then. */
export interface Subscription {
  lease: Lease;
  pending: number;
  headSeq: number;
  sameJournal: boolean;
}

/** The named messages by whether the consumer held them, so that they were settled or given back. */
export interface Judged {
  accepted: number[];
  rejected: number[];
}

/** The way in which a message is given back: to be offered again after `delayMs`, or `dead` at once. */
export interface GiveBackOptions {
  delayMs: number;
  dead: boolean;
  reason?: string;
}

/** Settlements that nobody waits for may wait so long for company. */
const lazyMs = 4;

/**
 * The front door of the core. Messages come in by {@link deliver}, are stored, and are pushed to the consumer that holds
 * their inbox, which settles them or gives them back. Knows no sockets, nor who may do what.
 */
export class Delivery {
  /** Takes requests back. */
  readonly cancellations: Cancellations;
  /** Ends messages whose time is over; to be called again and again. */
  readonly deadlines: Deadlines;
  /** Tells what consumers hold, or left behind. */
  readonly held: HeldMessages;
  readonly #options: DeliveryOptions;
  readonly #store: InboxStore;
  readonly #leases = new LeaseTable();
  readonly #waiting = new WaitingRequests();
  readonly #commits: CommitQueue;
  readonly #settler: Settler;
  readonly #dispatcher: Dispatcher;
  readonly #attempts: Attempts;

  constructor(options: DeliveryOptions) {
    const { store, now, onError, onStoreFailed, fault, tail, maxDeliver } = options;
    const [leases, waiting] = [this.#leases, this.#waiting];
    const commits = new CommitQueue(store, {
      onWritten: (message, { sender }, result) => this.#written(message, sender, result),
      onNotice: (inbox) => dispatcher.wake(inbox),
      onError,
      onStoreFailed,
      lazyMs,
      fault,
    });
    const settler = new Settler({ commits, leases, waiting, tail, now });
    const dispatcher = new Dispatcher({
      store,
      commits,
      leases,
      settler,
      waiting,
      now,
      onError,
      fault,
      tail,
    });
    const { redeliveries } = dispatcher;
    const attempts = new Attempts({ commits, settler, redeliveries, waiting, maxDeliver, now });
    this.#options = options;
    this.#store = store;
    this.#commits = commits;
    this.#settler = settler;
    this.#dispatcher = dispatcher;
    this.#attempts = attempts;
    this.held = new HeldMessages({ store, commits, leases, attempts });
    this.cancellations = new Cancellations({ store, commits, leases, settler, now });
    this.deadlines = new Deadlines({ store, leases, dispatcher, settler, attempts, waiting });
  }

  /**
   * Stores a message. It is pushed when it is written, and its producer is answered when it is durable. Returns a
   * promise only if the disk does not keep up: the producer should hand over nothing more until it resolves.
   */
  deliver(message: NewMessage, producer: Producer): Promise<undefined> | undefined {
    const commits = this.#commits;
    commits.append(message, producer, this.isHeld(message.inbox));
    if (!commits.isBehind) return undefined;
    const goOn = (): undefined => undefined;
    // Only the producer's answer says whether the commit failed.
    return commits.written().then(goOn, goOn);
  }

  /** Hands a message to the live holder of its inbox without storing it. False if there is none. */
  deliverEphemeral(frame: MessageFrame, body: string | undefined): boolean {
    const lease = this.#leases.at(frame.to);
    if (!lease?.started) return false;
    lease.consumer.pushEphemeral(frame, body);
    return true;
  }

  /** The consumer handed these to its handler: from now on it counts if they come to nothing. Renews their ack deadlines. */
  working(consumer: Consumer, seqs: readonly number[]): void {
    const lease = this.#leases.of(consumer);
    if (!lease) return;
    const now = this.#options.now();
    for (const seq of seqs) {
      const message = lease.inFlight.get(seq);
      if (!message) continue;
      message.working = true;
      message.renewedAt = now;
    }
  }

  /** Settles messages that this consumer holds. Other sequence numbers are rejected and change nothing. */
  ack(consumer: Consumer, seqs: readonly number[]): Judged {
    return this.#releaseAll(consumer, seqs, (seq, message) => this.#settler.ack(seq, message));
  }

  /** Gives back messages that this consumer holds. After too many tries they are dead. */
  nack(consumer: Consumer, seqs: readonly number[], options: GiveBackOptions): Judged {
    const how = { ...options, reason: options.reason ?? 'no reason given' };
    return this.#releaseAll(consumer, seqs, (seq, message) => this.#attempts.givenBack(seq, message, how));
  }

  /** Puts a dead letter back into its inbox. */
  async retryDead(seq: number): Promise<Retried> {
    const retried = await this.#store.dead.retry(seq, this.#options.now());
    if (retried.result === 'stored') this.#dispatcher.wake(retried.inbox);
    return retried;
  }

  /**
   * Gives the inbox to this consumer; the newest subscriber wins. The lease counts at once, and nothing is pushed
   * before {@link start}. Resolves with `undefined` if the lease ended meanwhile.
   */
  async subscribe(
    address: string,
    consumer: Consumer,
    options: SubscribeOptions,
  ): Promise<Subscription | undefined> {
    const lease = new Lease(this.#options.newLeaseId(), address, consumer, options);
    const previous = this.#leases.at(address);
    if (previous) this.#takeOver(previous, consumer);
    this.#attempts.cameBack(address);
    this.#leases.add(lease);
    try {
      await this.#commits.written();
      const [{ pending, headSeq }, sameJournal] = await Promise.all([
        this.#store.stats(address),
        options.journalId === undefined ? true : this.#store.bindJournal(address, options.journalId),
      ]);
      return lease.ended ? undefined : { lease, pending, headSeq, sameJournal };
    } catch (error) {
      // The subscriber is refused. A lease that never starts would keep messages from the next one.
      if (!lease.ended) this.#leases.end(lease);
      throw error;
    }
  }

  /** Begins to push: the subscriber has its answer, which nothing may overtake. */
  start(lease: Lease): void {
    lease.started = true;
    this.#dispatcher.pump(lease);
  }

  /** The consumer takes frames again. */
  resume(consumer: Consumer): void {
    const lease = this.#leases.of(consumer);
    if (lease) this.#dispatcher.pump(lease);
  }

  /** Ends the lease that this consumer holds. Its un-acked messages wait for the next one. */
  release(consumer: Consumer): void {
    const lease = this.#leases.of(consumer);
    if (!lease) return;
    const unfinished = this.#end(lease);
    if (unfinished.length > 0) this.#attempts.leftUnfinished(lease.address, unfinished);
  }

  get leaseCount(): number {
    return this.#leases.size;
  }

  /** True if some consumer holds the inbox now. */
  isHeld(address: string): boolean {
    return this.#leases.at(address) !== undefined;
  }

  /** True if this consumer holds an inbox now. */
  holds(consumer: Consumer): boolean {
    return this.#leases.of(consumer) !== undefined;
  }

  /** A message that was pushed to this consumer and is not settled yet. */
  inFlight(consumer: Consumer, seq: number): InFlightMessage | undefined {
    return this.#leases.of(consumer)?.inFlight.get(seq);
  }

  /** Resolves when every settlement asked for so far is durable. */
  flushed(): Promise<void> {
    return this.#commits.flushed();
  }

  /**
   * Commits what waits and lets it be answered; nothing is pushed, counted or redelivered afterwards. In the step in
   * which it resolves, nothing is under way.
   */
  async close(): Promise<void> {
    this.deadlines.close();
    this.#dispatcher.close();
    while (this.#commits.isBusy) await this.#commits.flushed().catch(this.#options.onError);
  }

  #written(message: NewMessage, from: Sender, result: DeliverResult): void {
    const { settles } = message;
    if (settles !== undefined && isInStore(result)) {
      const request = this.#dispatcher.settledByReply(settles.inbox, settles.seq);
      if (request) this.#settler.ackedByReply(settles.seq, request);
    }
    if (result.result === 'stored') this.#stored(message, from, result.seq);
  }

  #stored(message: NewMessage, from: Sender, seq: number): void {
    const { tail } = this.#options;
    if (tail.isOn) tail.saw({ what: 'stored' }, seq, headerOfNew(message));
    if (!this.cancellations.endIfCancelled(message, seq)) this.#dispatcher.stored(message, from, seq);
  }

  #releaseAll(
    consumer: Consumer,
    seqs: readonly number[],
    act: (seq: number, message: InFlightMessage) => void,
  ): Judged {
    const lease = this.#leases.of(consumer);
    if (!lease) return { accepted: [], rejected: [...seqs] };
    const accepted: number[] = [];
    const rejected: number[] = [];
    for (const seq of seqs) {
      const message = lease.release(seq);
      if (message) {
        act(seq, message);
        accepted.push(seq);
      } else rejected.push(seq);
    }
    this.#dispatcher.pump(lease);
    return { accepted, rejected };
  }

  #takeOver(previous: Lease, consumer: Consumer): void {
    const unfinished = this.#end(previous);
    if (previous.consumer === consumer) return;
    this.#attempts.takenOver(unfinished);
    previous.consumer.send({ type: 'lease_lost', reason: 'taken_over' });
  }

  /** Ends a lease. Returns what its holder was working on and nobody settled. */
  #end(lease: Lease): Unfinished {
    const now = this.#options.now();
    const unfinished: Unfinished = [];
    this.#leases.end(lease);
    for (const [seq, message] of lease.inFlight) {
      if (message.ended) continue;
      if (message.cancelled) this.#settler.cancel(seq, message);
      else {
        const { inbox, expiresAt, kind } = message;
        if (isRequest(kind)) this.#waiting.add({ inbox, seq, expiresAt, wasPushed: true }, now);
        if (message.working) unfinished.push([seq, message]);
      }
    }
    lease.inFlight.clear();
    return unfinished;
  }
}

/** True if the message is in the store, so that what it settles is settled. */
function isInStore({ result }: DeliverResult): boolean {
  return result === 'stored' || result === 'duplicate' || result === 'id_conflict';
}
