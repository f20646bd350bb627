import type { Fault, MessageFrame, Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage, Retried } from '@signalbox/store';
import { Attempts } from './attempts.ts';
import { Cancellations } from './cancellations.ts';
import { CommitQueue } from './commit-queue.ts';
import { Deadlines } from './deadlines.ts';
import { Dispatcher } from './dispatcher.ts';
import { HeldMessages } from './held-messages.ts';
import { type Consumer, type InFlightMessage, Lease, type LeaseOptions } from './lease.ts';
import type { DeliverResult, Producer } from './producer.ts';
import { Settler } from './settler.ts';
import { type Tap, tapped } from './tap.ts';
import { isRequest } from './undeliverable.ts';
import { WaitingRequests } from './waiting-requests.ts';

export interface DeliveryOptions {
  store: InboxStore;
  now: () => number;
  newLeaseId: () => string;
  /** After so many failed tries a message becomes a dead letter. */
  maxDeliver: number;
  /** Called when frames are ready to leave: after the pushes of a commit, after a read. */
  flush: () => void;
  onError: (error: unknown) => void;
  /** Told once when messages can't be made durable any more: their senders get no answer, and never will. */
  onStoreFailed: (error: unknown) => void;
  fault: Fault;
  tap: Tap;
}

export interface SubscribeOptions extends LeaseOptions {
  journalId?: string;
}

export interface SubscribeResult {
  lease: Lease;
  pending: number;
  headSeq: number;
  sameJournal: boolean;
}

interface Judged {
  accepted: number[];
  rejected: number[];
}

/**
 * All that is in flight, for every store: leases, windows, attempts, delays, cancels. Knows nothing of sockets
 * and frames on the wire, nor who may do what.
 */
export class Delivery {
  /** Deadlines and expiry, to be called again and again. */
  readonly deadlines: Deadlines;
  /** What consumers have in their hands, or left behind. */
  readonly held: HeldMessages;
  /** Cancels, and requests of tokens that are gone. */
  readonly cancellations: Cancellations;
  readonly #options: DeliveryOptions;
  readonly #store: InboxStore;
  readonly #commits: CommitQueue;
  readonly #dispatcher: Dispatcher;
  readonly #settler: Settler;
  readonly #attempts: Attempts;
  readonly #waiting = new WaitingRequests();

  constructor(options: DeliveryOptions) {
    const { store, now, flush, onError, onStoreFailed, fault, tap, maxDeliver } = options;
    this.#options = options;
    this.#store = store;
    this.#commits = new CommitQueue(store, {
      onWritten: (message, producer, result) => this.#written(message, producer.sender, result),
      flush,
      onNotice: (inbox) => this.#dispatcher.wake(inbox),
      onError,
      onStoreFailed,
      lazyMs: 4,
      fault,
    });
    const [commits, waiting] = [this.#commits, this.#waiting];
    const settler = new Settler({ commits, waiting, tap, now });
    this.#settler = settler;
    const dispatcher = new Dispatcher({ store, commits, settler, waiting, now, flush, onError, fault, tap });
    this.#dispatcher = dispatcher;
    const { leases, redeliveries } = dispatcher;
    const attempts = new Attempts({ commits, settler, redeliveries, waiting, maxDeliver, now });
    this.#attempts = attempts;
    this.held = new HeldMessages({ store, commits, leases, attempts });
    this.cancellations = new Cancellations({ store, commits, settler, leases, now });
    this.deadlines = new Deadlines({ store, dispatcher, settler, attempts, waiting });
  }

  get leaseCount(): number {
    return this.#dispatcher.leases.size;
  }

  /** Stores a message: pushed when it is written, answered when it is durable. A promise where its producer has to wait with more. */
  deliver(message: NewMessage, producer: Producer): Promise<void> | undefined {
    const commits = this.#commits;
    commits.append(message, producer, this.isHeld(message.inbox));
    // Whoever waits for the commit only to go on is not concerned by its failure.
    return commits.isBehind ? commits.written().catch(() => {}) : undefined;
  }

  /** Hands a message to the live holder of its inbox without storing it; false if there is none. */
  deliverEphemeral(frame: MessageFrame, body: string | undefined): boolean {
    const lease = this.#dispatcher.leases.get(frame.to);
    if (!lease?.started) return false;
    lease.consumer.pushEphemeral(frame, body);
    return true;
  }

  /**
   * Gives the inbox to this consumer; the newest subscriber wins. The lease counts at once; messages flow after
   * `onReady`, so that nothing overtakes the answer to the subscriber.
   */
  async subscribe(
    address: string,
    consumer: Consumer,
    options: SubscribeOptions,
    onReady: (result: SubscribeResult) => void,
  ): Promise<void> {
    const { leases } = this.#dispatcher;
    const lease = new Lease(this.#options.newLeaseId(), address, consumer, options);
    const previous = leases.get(address);
    if (previous) {
      const working = this.#end(previous);
      if (previous.consumer !== consumer) {
        this.#attempts.takenOver(working);
        previous.consumer.leaseLost('taken_over');
      }
    }
    this.#attempts.cameBack(address);
    leases.set(address, lease);
    await this.#commits.written();
    const [{ pending, headSeq }, sameJournal] = await Promise.all([
      this.#store.stats(address),
      options.journalId === undefined ? true : this.#store.bindJournal(address, options.journalId),
    ]);
    if (lease.ended) return;
    onReady({ lease, pending, headSeq, sameJournal });
    lease.started = true;
    this.#dispatcher.pump(lease);
  }

  /** True if this consumer holds the inbox now. */
  holds(address: string, consumer: Consumer): boolean {
    return this.#dispatcher.leases.get(address)?.consumer === consumer;
  }

  isHeld(address: string): boolean {
    return this.#dispatcher.leases.has(address);
  }

  /** A pushed, unsettled message of the lease this consumer holds. */
  inFlight(address: string, consumer: Consumer, seq: number): InFlightMessage | undefined {
    return this.#leaseOf(address, consumer)?.inFlight.get(seq);
  }

  /** Ends whatever this consumer holds; its un-acked messages wait for the next lease. */
  release(address: string, consumer: Consumer): void {
    const lease = this.#leaseOf(address, consumer);
    if (!lease) return;
    const working = this.#end(lease);
    if (working.length > 0) this.#attempts.left(address, working);
  }

  /** Settles what this consumer's current lease holds; other sequence numbers are rejected and change nothing. */
  ack(address: string, consumer: Consumer, seqs: readonly number[]): Judged {
    return this.#releaseAll(address, consumer, seqs, (seq, message) => {
      this.#acked(seq, message);
      this.#commits.settle({ inbox: address, seq, outcome: 'acked' });
    });
  }

  /** Gives messages back: to be offered again after `delayMs`, or dead at once or after too many tries. */
  nack(
    address: string,
    consumer: Consumer,
    seqs: readonly number[],
    options: { delayMs: number; dead: boolean; reason?: string },
  ): Judged {
    const how = { ...options, reason: options.reason ?? 'no reason given' };
    return this.#releaseAll(address, consumer, seqs, (seq, message) => {
      this.#attempts.givenBack(seq, message, how);
    });
  }

  /** These were handed to a handler: from now on it counts if they come to nothing. Renews their ack deadlines. */
  working(address: string, consumer: Consumer, seqs: readonly number[]): void {
    const lease = this.#leaseOf(address, consumer);
    if (!lease) return;
    const now = this.#options.now();
    for (const seq of seqs) {
      const message = lease.inFlight.get(seq);
      if (!message) continue;
      message.working = true;
      message.renewedAt = now;
    }
  }

  /** Puts a dead letter back into its inbox. */
  async retryDead(seq: number): Promise<Retried> {
    const retried = await this.#store.dead.retry(seq, this.#options.now());
    if (retried.result === 'stored') this.#dispatcher.wake(retried.inbox);
    return retried;
  }

  /** The consumer's socket takes frames again. */
  resume(address: string, consumer: Consumer): void {
    const lease = this.#leaseOf(address, consumer);
    if (lease) this.#dispatcher.pump(lease);
  }

  /** Resolves when every settlement asked for so far is on disk. */
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

  /** Ends a lease; what its holder was working on and nobody settled. */
  #end(lease: Lease): [seq: number, message: InFlightMessage][] {
    const { leases } = this.#dispatcher;
    const now = this.#options.now();
    const working: [number, InFlightMessage][] = [];
    lease.ended = true;
    if (leases.get(lease.address) === lease) leases.delete(lease.address);
    for (const [seq, message] of lease.inFlight) {
      if (message.ended) continue;
      if (message.cancelled) this.#settler.cancel(seq, message);
      else {
        const { inbox, expiresAt, kind } = message;
        if (isRequest(kind)) this.#waiting.add({ inbox, seq, expiresAt, wasPushed: true }, now);
        if (message.working) working.push([seq, message]);
      }
    }
    lease.inFlight.clear();
    return working;
  }

  #releaseAll(
    address: string,
    consumer: Consumer,
    seqs: readonly number[],
    act: (seq: number, message: InFlightMessage) => void,
  ): Judged {
    const lease = this.#leaseOf(address, consumer);
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

  #leaseOf(address: string, consumer: Consumer): Lease | undefined {
    const lease = this.#dispatcher.leases.get(address);
    return lease?.consumer === consumer ? lease : undefined;
  }

  #acked(seq: number, message: InFlightMessage): void {
    const { tap } = this.#options;
    if (tap.isOn && !message.ended) tap.saw({ what: 'settled', outcome: 'acked' }, seq, message);
  }

  #written(message: NewMessage, from: Sender, result: DeliverResult): void {
    const { settles } = message;
    if (settles !== undefined && isKept(result)) {
      const request = this.#dispatcher.released(settles.inbox, settles.seq);
      if (request) this.#acked(settles.seq, request);
    }
    if (result.result === 'stored') this.#stored(message, from, result.seq);
  }

  #stored(message: NewMessage, from: Sender, seq: number): void {
    const { tap } = this.#options;
    if (tap.isOn) tap.saw({ what: 'stored' }, seq, tapped(message));
    if (!this.cancellations.endIfCancelled(message, seq)) this.#dispatcher.stored(message, from, seq);
  }
}

/** The message is in the store, so that what it settles is settled. */
function isKept({ result }: DeliverResult): boolean {
  return result === 'stored' || result === 'duplicate' || result === 'id_conflict';
}
