import type { Fault, MessageFrame, Sender } from '@signalbox/protocol';
import {
  hasExpired,
  type InboxStore,
  type NewMessage,
  presentFor,
  type StoredMessage,
} from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { AttemptHistories } from '../endings/attempt-histories.ts';
import type { InFlightMessage, Lease } from '../leases/lease.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import { headerOf, isRequest } from '../message-header.ts';
import type { Meter } from '../meter.ts';
import { damaged, type Settler } from '../settling/settler.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';
import type { Tail } from '../tail.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';
import { HeldBack } from './held-back.ts';
import { Redeliveries } from './redeliveries.ts';

/** The most messages that are read from the store at once. */
const readBatch = 128;
/** The most bytes of them. All messages of one read are pushed, however slowly the consumer reads. */
const readBytes = 1024 * 1024;

/** The dependencies of the {@link Dispatcher}. */
export interface DispatcherDeps {
  store: InboxStore;
  commits: CommitQueue;
  leases: LeaseTable;
  settler: Settler;
  waiting: WaitingRequests;
  time: ExpiryClock;
  histories: AttemptHistories;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  onError: (error: unknown) => void;
  fault: Fault;
  tail: Tail;
  meter: Meter;
}

/** Pushes messages to the holders of their inboxes, either as they are stored or, when there is room again, from the store. */
export class Dispatcher {
  /** The messages that wait before they are pushed again. */
  readonly redeliveries = new Redeliveries((address, seq) => this.#due(address, seq));
  readonly #deps: DispatcherDeps;
  readonly #heldBack = new HeldBack((address, seq) => this.#due(address, seq));

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Takes a message that was just stored. It is pushed now if no other waits before it and there is room. If not, it is read from the store later. */
  stored(message: NewMessage, from: Sender, seq: number): void {
    const { waiting, time } = this.#deps;
    const { inbox, createdAt, expiresAt, body } = message;
    const lease = this.#deps.leases.at(inbox);
    const size = lease === undefined || body === undefined ? 0 : Buffer.byteLength(body);
    const isNext = lease !== undefined && !lease.behind && lease.fits(size);
    // Only a push needs the time.
    if (isNext) time.look();
    if (isRequest(message.kind) && (!isNext || hasExpired(message, time))) {
      waiting.add({ inbox, seq, createdAt, expiresAt, wasPushed: false }, time.now());
    }
    if (!lease) return;
    if (isNext) this.#push(lease, seq, inFlight(message, from, size, 0, time.lookedAt), message);
    else lease.behind = true;
    if (lease.reading) lease.missed = true;
  }

  /** Looks for messages in an inbox that were stored without a call of {@link stored}. */
  wake(inbox: string): void {
    const lease = this.#deps.leases.at(inbox);
    if (!lease) return;
    lease.behind = true;
    if (lease.reading) lease.missed = true;
    this.pump(lease);
  }

  /** Takes a message out of flight that was settled by its reply. Returns it, or `undefined` if it was not in flight. */
  settledByReply(inbox: string, seq: number): InFlightMessage | undefined {
    const lease = this.#deps.leases.at(inbox);
    if (!lease) return undefined;
    lease.settledElsewhere(seq);
    const message = lease.release(seq);
    this.pump(lease);
    return message;
  }

  /** Starts to read the inbox if there may be something to push and there is room for it. */
  pump(lease: Lease): void {
    if (lease.reading || lease.ended || !lease.started) return;
    if (!lease.behind && lease.retries.length === 0) return;
    if (lease.room().messages <= 0) return;
    lease.reading = true;
    this.#catchUp(lease).catch(this.#deps.onError);
  }

  /** Pushes the requests that were held back during a leap, or gives up those that have expired. */
  pushHeldBack(): void {
    this.#heldBack.release();
  }

  /** Ends every lease. Nothing is pushed afterwards. */
  close(): void {
    this.redeliveries.close();
    this.#deps.leases.endAll();
  }

  /** Ends `reading` in the same step in which it decides to stop, so that no wake-up falls in between. */
  async #catchUp(lease: Lease): Promise<void> {
    try {
      while (!lease.ended && lease.room().messages > 0 && (lease.behind || lease.retries.length > 0)) {
        const retry = lease.retries.shift();
        if (retry === undefined) await this.#pushBacklog(lease);
        else await this.#pushAgain(lease, retry);
      }
    } finally {
      lease.reading = false;
    }
  }

  async #pushBacklog(lease: Lease): Promise<void> {
    const room = lease.room();
    lease.missed = false;
    lease.settledSinceRead.clear();
    const limit = Math.min(room.messages, readBatch);
    const bytes = Math.min(room.bytes, readBytes);
    const messages = await this.#deps.store.read(lease.address, lease.cursor, limit, bytes);
    if (lease.ended) return;
    if (messages.length === 0) lease.behind = lease.missed;
    this.#deps.time.look();
    for (const message of messages) {
      if (this.redeliveries.isHeldBack(lease.address, message.seq)) lease.cursor = message.seq;
      else this.#pushStored(lease, message);
    }
  }

  async #pushAgain(lease: Lease, seq: number): Promise<void> {
    const { commits, store, time } = this.#deps;
    lease.settledSinceRead.clear();
    await commits.written();
    const [message] = await store.read(lease.address, seq - 1, 1, 1);
    if (message?.seq !== seq || lease.ended || lease.inFlight.has(seq)) return;
    time.look();
    this.#pushStored(lease, message);
  }

  #pushStored(lease: Lease, stored: StoredMessage): void {
    const { seq } = stored;
    if (lease.settledSinceRead.has(seq)) {
      lease.cursor = Math.max(lease.cursor, seq);
      return;
    }
    if (stored.damaged) {
      lease.cursor = Math.max(lease.cursor, seq);
      if (!this.#deps.commits.isSettling(seq)) this.#deps.settler.giveUp(seq, headerOf(stored), damaged);
      return;
    }
    const from = { agent: stored.sender, address: stored.senderAddress, role: stored.senderRole };
    const renewedAt = this.#deps.time.lookedAt;
    this.#push(lease, seq, inFlight(stored, from, stored.size, stored.attempts, renewedAt), stored);
  }

  /** Pushes a message. `content` holds the parts of it that are not kept afterwards. */
  #push(lease: Lease, seq: number, message: InFlightMessage, content: Content): void {
    const { commits, settler, waiting, time, fault, tail, meter } = this.#deps;
    if (commits.isSettling(seq)) {
      lease.cursor = Math.max(lease.cursor, seq);
      return;
    }
    if (hasExpired(message, time)) {
      settler.expire(seq, message);
      lease.cursor = Math.max(lease.cursor, seq);
      return;
    }
    if (isRequest(message.kind)) {
      if (time.isInLeap(message.expiresAt)) {
        this.#heldBack.add(lease.address, seq);
        lease.cursor = Math.max(lease.cursor, seq);
        return;
      }
      waiting.remove(seq);
    }
    fault('broker.push.before');
    lease.hold(seq, message);
    const frame = messageFrame(seq, message, content.traceparent, time);
    if (message.attempts > 0) frame.since_tried_ms = this.#sinceTriedMs(seq);
    lease.consumer.push(frame, content.body);
    meter.pushed(message.kind, message.attempts);
    if (tail.isOn) tail.report({ what: 'delivered', attempt: message.attempts + 1 }, seq, message);
  }

  #sinceTriedMs(seq: number): number | undefined {
    const { histories, monotonic } = this.#deps;
    const triedAt = histories.triedAt(seq);
    return triedAt === undefined ? undefined : Math.max(0, Math.round(monotonic() - triedAt));
  }

  /** Pushes a message whose delay is over. One after the cursor is found by the next read. */
  #due(address: string, seq: number): void {
    const lease = this.#deps.leases.at(address);
    if (!lease || seq > lease.cursor) return;
    lease.retries.push(seq);
    this.pump(lease);
  }
}

type Content = Pick<NewMessage, 'traceparent' | 'body'>;

function inFlight(
  message: NewMessage | StoredMessage,
  from: Sender,
  size: number,
  attempts: number,
  renewedAt: number,
): InFlightMessage {
  return {
    inbox: message.inbox,
    id: message.id,
    from,
    kind: message.kind,
    correlationId: message.correlationId,
    createdAt: message.createdAt,
    expiresAt: message.expiresAt,
    size,
    attempts,
    renewedAt,
    working: false,
    cancelled: false,
    ended: false,
  };
}

function messageFrame(
  seq: number,
  message: InFlightMessage,
  traceparent: string | undefined,
  time: ExpiryClock,
): MessageFrame {
  return {
    type: 'message',
    id: message.id,
    seq,
    from: message.from,
    to: message.inbox,
    kind: message.kind,
    correlation_id: message.correlationId,
    created_at: message.createdAt,
    remaining_ms: Math.ceil(message.expiresAt - presentFor(message.createdAt, time)),
    attempt: message.attempts > 0 ? message.attempts + 1 : undefined,
    traceparent,
  };
}
