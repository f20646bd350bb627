import type { Fault, MessageFrame, Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage, StoredMessage } from '@signalbox/store';
import type { CommitQueue } from './commit-queue.ts';
import { type Endings, givenUp } from './endings.ts';
import type { InFlight, Lease } from './lease.ts';
import { Redeliveries } from './redeliveries.ts';
import type { Tap } from './tap.ts';
import { isRequest } from './undeliverable.ts';
import type { WaitingRequests } from './waiting-requests.ts';

/** Most messages fetched from the store in one read. */
const readBatch = 128;
/** Most bytes of them: what is read at once is pushed at once, however slowly the consumer reads. */
const readBytes = 1024 * 1024;

export interface DispatcherPorts {
  store: InboxStore;
  commits: CommitQueue;
  endings: Endings;
  waiting: WaitingRequests;
  now: () => number;
  /** Called when frames are ready to leave after a read. */
  flush: () => void;
  onError: (error: unknown) => void;
  fault: Fault;
  tap: Tap;
}

/** The leases, and the way of messages into them: live as they are stored, or read from the store when there is room. */
export class Dispatcher {
  readonly leases = new Map<string, Lease>();
  readonly redeliveries: Redeliveries;
  readonly #ports: DispatcherPorts;

  constructor(ports: DispatcherPorts) {
    this.#ports = ports;
    this.redeliveries = new Redeliveries((address, seq) => {
      const lease = this.leases.get(address);
      if (!lease || seq > lease.cursor) return;
      lease.retries.push(seq);
      this.pump(lease);
    });
  }

  /** A message was committed: pushed at once where it is next, left to the store where others wait before it. */
  stored(message: NewMessage, seq: number): void {
    const now = this.#ports.now();
    const { inbox, expiresAt } = message;
    const lease = this.leases.get(inbox);
    const size = message.body === undefined ? 0 : Buffer.byteLength(message.body);
    const isNext = lease !== undefined && !lease.behind && lease.fits(size);
    if (isRequest(message.kind) && (!isNext || expiresAt <= now)) {
      this.#ports.waiting.add({ inbox, seq, expiresAt, wasPushed: false }, now);
    }
    if (!lease) return;
    if (isNext) this.#push(lease, { ...message, seq, size, attempts: 0 }, now);
    else lease.behind = true;
    if (lease.reading) lease.missed = true;
  }

  /** Something is in an inbox that was not handed to {@link stored}. */
  wake(inbox: string): void {
    const lease = this.leases.get(inbox);
    if (!lease) return;
    lease.behind = true;
    if (lease.reading) lease.missed = true;
    this.pump(lease);
  }

  /** A message was settled otherwise than by the lease that it was pushed to; as what it was there. */
  released(inbox: string, seq: number): InFlight | undefined {
    const lease = this.leases.get(inbox);
    if (!lease) return undefined;
    const message = lease.release(seq);
    this.pump(lease);
    return message;
  }

  pump(lease: Lease): void {
    if (lease.reading || lease.ended || !lease.started) return;
    if (!lease.behind && lease.retries.length === 0) return;
    if (lease.room().messages <= 0) return;
    lease.reading = true;
    this.#catchUp(lease).catch(this.#ports.onError);
  }

  /** Nothing is pushed or offered again afterwards. */
  close(): void {
    this.redeliveries.close();
    for (const lease of this.leases.values()) lease.ended = true;
    this.leases.clear();
  }

  #push(lease: Lease, message: StoredMessage, now: number): void {
    const { commits, endings, waiting, fault, tap } = this.#ports;
    const { seq, kind } = message;
    if (commits.isSettling(seq)) {
      lease.cursor = Math.max(lease.cursor, seq);
      return;
    }
    if (message.expiresAt <= now) {
      endings.giveUp(seq, givenUp(message), { outcome: 'expired', reason: 'expired' });
      if (seq > lease.cursor) lease.cursor = seq;
      return;
    }
    if (isRequest(kind)) waiting.take(seq);
    fault('broker.push.before');
    const from = { agent: message.sender, address: message.senderAddress, role: message.senderRole };
    const inFlight = {
      inbox: message.inbox,
      id: message.id,
      from,
      kind,
      correlationId: message.correlationId,
      createdAt: message.createdAt,
      expiresAt: message.expiresAt,
      size: message.size,
      attempts: message.attempts,
      renewedAt: now,
      working: false,
      cancelled: false,
      ended: false,
    };
    lease.hold(seq, inFlight);
    lease.consumer.push(messageFrame(message, from, message.expiresAt - now), message.body);
    if (tap.isOn) tap.saw({ what: 'delivered', attempt: message.attempts + 1 }, seq, inFlight);
  }

  /** Ends `reading` in the same step in which it decides to stop, so that no wake-up falls in between. */
  async #catchUp(lease: Lease): Promise<void> {
    try {
      while (!lease.ended && lease.room().messages > 0 && (lease.behind || lease.retries.length > 0)) {
        const retry = lease.retries.shift();
        if (retry === undefined) await this.#pushBacklog(lease);
        else await this.#pushAgain(lease, retry);
        this.#ports.flush();
      }
    } finally {
      lease.reading = false;
    }
  }

  async #pushBacklog(lease: Lease): Promise<void> {
    const room = lease.room();
    lease.missed = false;
    const limit = Math.min(room.messages, readBatch);
    const bytes = Math.min(room.bytes, readBytes);
    const messages = await this.#ports.store.read(lease.address, lease.cursor, limit, bytes);
    if (lease.ended) return;
    if (messages.length === 0) lease.behind = lease.missed;
    const now = this.#ports.now();
    for (const message of messages) {
      if (this.redeliveries.waits(lease.address, message.seq)) lease.cursor = message.seq;
      else this.#push(lease, message, now);
    }
  }

  async #pushAgain(lease: Lease, seq: number): Promise<void> {
    await this.#ports.commits.flushed();
    const [message] = await this.#ports.store.read(lease.address, seq - 1, 1, 1);
    if (message?.seq !== seq || lease.ended || lease.inFlight.has(seq)) return;
    this.#push(lease, message, this.#ports.now());
  }
}

function messageFrame(message: StoredMessage, from: Sender, remainingMs: number): MessageFrame {
  return {
    type: 'message',
    id: message.id,
    seq: message.seq,
    from,
    to: message.inbox,
    kind: message.kind,
    ...(message.correlationId !== undefined && { correlation_id: message.correlationId }),
    created_at: message.createdAt,
    remaining_ms: remainingMs,
    ...(message.attempts > 0 && { attempt: message.attempts + 1 }),
    ...(message.traceparent !== undefined && { traceparent: message.traceparent }),
  };
}
