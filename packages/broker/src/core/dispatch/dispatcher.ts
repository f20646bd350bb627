import type { Sender } from '@signalbox/protocol';
import { type ClusterPort, hasExpired, type NewMessage, type StoredMessage } from '@signalbox/store';
import type { InFlightMessage, Lease } from '../leases/lease.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import { isRequest } from '../message-header.ts';
import { FailedReads } from './failed-reads.ts';
import { GroupDispatcher } from './group-dispatcher.ts';
import { HeldBack } from './held-back.ts';
import { inFlight, Pusher, type PusherDeps } from './pusher.ts';
import { readBatch, readBytes } from './read-sizes.ts';
import { Redeliveries } from './redeliveries.ts';

/** The dependencies of the {@link Dispatcher}. */
export interface DispatcherDeps extends Omit<PusherDeps, 'heldBack'> {
  cluster: Pick<ClusterPort, 'isAlone' | 'read' | 'claim' | 'claimAgain' | 'unclaim'>;
  leases: LeaseTable;
  onError: (error: unknown) => void;
}

/** Pushes messages to the holders of their inboxes: either when they are stored or, when there is room again, from the store. */
export class Dispatcher {
  /** The messages that wait before they are pushed again. */
  readonly redeliveries = new Redeliveries((address, seq) => this.#due(address, seq));
  readonly #deps: DispatcherDeps;
  readonly #heldBack = new HeldBack((address, seq) => this.#due(address, seq));
  readonly #pusher: Pusher;
  readonly #groups: GroupDispatcher;
  readonly #failedReads: FailedReads;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#pusher = new Pusher({ ...deps, heldBack: this.#heldBack });
    this.#failedReads = new FailedReads(deps.monotonic);
    this.#groups = new GroupDispatcher({
      ...deps,
      pusher: this.#pusher,
      isDelayed: (address, seq) => this.redeliveries.isHeldBack(address, seq),
      failedReads: this.#failedReads,
    });
  }

  /**
   * Handles a message that was just stored. It is pushed now if no other one waits before it and there is room; otherwise it is read from
   * the store later. Another broker may have stored earlier messages up to `after`.
   */
  stored(message: NewMessage, from: Sender, seq: number, after = 0): void {
    const { waiting, time } = this.#deps;
    const { inbox, createdAt, expiresAt, body } = message;
    const lease = this.#deps.leases.at(inbox);
    const shared = lease === undefined ? this.#deps.leases.ofGroup(inbox) : undefined;
    if (shared) {
      this.#groups.stored(shared, message, from, seq, after);
      return;
    }
    const size = lease === undefined || body === undefined ? 0 : Buffer.byteLength(body);
    const isNext = lease !== undefined && !lease.behind && after <= lease.cursor && lease.fits(size);
    // Only a push needs the time.
    if (isNext) time.look();
    if (isRequest(message.kind) && (!isNext || hasExpired(message, time))) {
      waiting.add({ inbox, seq, createdAt, expiresAt, wasPushed: false }, time.now());
    }
    if (!lease) return;
    if (isNext) {
      const pushed = this.#pusher.push(lease, seq, inFlight(message, from, size, 0, time.lookedAt), message);
      if (pushed !== 'pushed') passOver(lease, seq);
    } else lease.behind = true;
    if (lease.reading) lease.missed = true;
    if (after > lease.cursor) this.pump(lease);
  }

  /** Handles a message that another broker has stored, like {@link stored}. It may have been read already. */
  came(inbox: string, message: StoredMessage, after: number): void {
    const lease = this.#deps.leases.at(inbox);
    if (!lease || message.seq <= lease.cursor) return;
    if (!lease.behind && after <= lease.cursor && lease.fits(message.size)) {
      this.#deps.time.look();
      this.#pushStored(lease, message);
    } else lease.behind = true;
    if (lease.reading) lease.missed = true;
    this.pump(lease);
  }

  /** Looks for messages in an inbox that were stored without a call of {@link stored}. */
  wake(inbox: string): void {
    const { leases } = this.#deps;
    const shared = leases.ofGroup(inbox);
    if (shared) this.#groups.wake(shared);
    const lease = leases.at(inbox);
    if (!lease) return;
    lease.behind = true;
    if (lease.reading) lease.missed = true;
    this.pump(lease);
  }

  /** Looks for messages of a group that can be handed out now and could not be before: the listed ones, or any. */
  freed(inbox: string, seqs: readonly number[] | 'any'): void {
    const shared = this.#deps.leases.ofGroup(inbox);
    if (shared) this.#groups.freed(shared, seqs);
  }

  /** Removes a message that its reply settled from those in flight. Returns it, or `undefined` if it was not in flight. */
  settledByReply(inbox: string, seq: number): InFlightMessage | undefined {
    const lease = this.#deps.leases.at(inbox);
    if (!lease) {
      const shared = this.#deps.leases.ofGroup(inbox);
      return shared && this.#groups.settledByReply(shared, seq);
    }
    lease.settledElsewhere(seq);
    const message = lease.release(seq);
    this.pump(lease);
    return message;
  }

  /** Continues to push after messages of a lease were released. */
  released(lease: Lease, seqs: readonly number[]): void {
    if (lease.isShared) this.#groups.released(lease, seqs);
    else this.pump(lease);
  }

  /** Notes that the holder of a lease missed an ack deadline. A member of a group gets nothing until {@link heard} is called. */
  missedDeadline(lease: Lease): void {
    if (lease.isShared) this.#groups.missedDeadline(lease);
  }

  /** Notes that the holder of a lease has sent a frame about its messages. */
  heard(lease: Lease): void {
    if (lease.isSilent) this.#groups.heard(lease);
  }

  /** Notes that a message has ended in any way. It is not pushed any more. */
  ended(inbox: string, seq: number): void {
    const { leases } = this.#deps;
    leases.at(inbox)?.settledElsewhere(seq);
    const shared = leases.ofGroup(inbox);
    if (shared) this.#groups.ended(shared, seq);
  }

  /** Hands out again a message that a lost member of a group had. */
  handOutAgain(inbox: string, seq: number): void {
    this.#due(inbox, seq);
  }

  /** Starts to read the inbox if there may be messages to push and there is room for them. */
  pump(lease: Lease): void {
    if (lease.isShared) {
      this.#groups.isFree(lease);
      return;
    }
    if (lease.reading || lease.ended || !lease.started) return;
    if (!lease.behind && lease.retries.length === 0) return;
    if (lease.room().messages <= 0) return;
    lease.reading = true;
    this.#catchUp(lease).catch((error: unknown) => {
      this.#failedReads.add(lease, () => this.pump(lease));
      this.#deps.onError(error);
    });
  }

  /** Has the inboxes read again whose reading failed. To be called repeatedly. */
  readAgain(): void {
    this.#failedReads.readAgain();
  }

  /** Pushes the requests that were held back during a leap, or gives up the expired ones. */
  pushHeldBack(): void {
    this.#heldBack.release();
  }

  /**
   * Notes that an operator's hold on the agent of a lease begins or ends. At its end the agent gets the messages that came meanwhile, in
   * order.
   */
  setOnHold(lease: Lease, isOnHold: boolean): void {
    lease.isOnHold = isOnHold;
    if (!isOnHold && !lease.isShared) {
      for (const seq of lease.heldBack.splice(0)) lease.retries.push(seq);
      lease.behind = true;
      if (lease.reading) lease.missed = true;
    }
    this.pump(lease);
  }

  /** Ends every lease. Nothing is pushed afterwards. */
  close(): void {
    this.redeliveries.close();
    this.#deps.leases.endAll();
  }

  /** Reads until nothing is left to push. It clears `reading` in the same step in which it decides to stop, so that no wake-up is lost. */
  async #catchUp(lease: Lease): Promise<void> {
    try {
      let next = 0;
      while (hasRoom(lease, next) && (lease.behind || lease.retries.length > 0)) {
        const retry = lease.retries[0];
        next = retry === undefined ? await this.#pushBacklog(lease) : await this.#pushAgain(lease, retry);
      }
    } finally {
      lease.reading = false;
    }
  }

  /** Pushes the messages that were read and fit. Returns the bytes of the first one that does not fit, or 0. */
  async #pushBacklog(lease: Lease): Promise<number> {
    const { commits, cluster } = this.#deps;
    lease.settledSinceRead.clear();
    if (lease.wasSettledElsewhere && !cluster.isAlone) {
      lease.wasSettledElsewhere = false;
      // A database also returns messages whose settlements are being written.
      await commits.written();
    }
    const room = lease.room();
    lease.missed = false;
    const limit = Math.min(room.messages, readBatch);
    const bytes = Math.min(room.bytes, readBytes);
    const messages = await cluster.read(lease.address, lease.cursor, limit, bytes);
    if (lease.ended || lease.isPaused) return 0;
    if (messages.length === 0) lease.behind = lease.missed;
    this.#deps.time.look();
    for (const message of messages) {
      if (this.redeliveries.isHeldBack(lease.address, message.seq)) lease.cursor = message.seq;
      // The store returns at least one message, even a very large one.
      else if (!lease.fitsBytes(message.size)) return message.size;
      else this.#pushStored(lease, message);
    }
    return 0;
  }

  /** Pushes a message again, if it fits. Returns its bytes if it does not fit, or 0. */
  async #pushAgain(lease: Lease, seq: number): Promise<number> {
    const { commits, cluster, time } = this.#deps;
    lease.settledSinceRead.clear();
    await commits.written();
    const [message] = await cluster.read(lease.address, seq - 1, 1, 1);
    if (lease.ended || lease.isPaused) return 0;
    const isThere = message?.seq === seq && !lease.inFlight.has(seq);
    if (isThere && !lease.fitsBytes(message.size)) return message.size;
    lease.retries.shift();
    if (!isThere) return 0;
    time.look();
    this.#pushStored(lease, message);
    return 0;
  }

  #pushStored(lease: Lease, stored: StoredMessage): void {
    const { seq } = stored;
    const isPushed =
      !lease.settledSinceRead.has(seq) &&
      this.#pusher.mayPush(stored) &&
      this.#pusher.pushStored(lease, stored) === 'pushed';
    if (!isPushed) passOver(lease, seq);
  }

  /** Pushes a message whose delay is over. If it is after the cursor, the next read finds it. */
  #due(address: string, seq: number): void {
    const { leases } = this.#deps;
    const shared = leases.ofGroup(address);
    if (shared) this.#groups.due(shared, seq);
    const lease = leases.at(address);
    if (!lease || seq > lease.cursor) return;
    lease.retries.push(seq);
    this.pump(lease);
  }
}

function hasRoom(lease: Lease, size: number): boolean {
  return !lease.ended && lease.room().messages > 0 && lease.fitsBytes(size);
}

function passOver(lease: Lease, seq: number): void {
  lease.cursor = Math.max(lease.cursor, seq);
}
