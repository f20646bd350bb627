import type { Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage, StoredMetadata } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { InFlightMessage } from '../leases/lease.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import { headerOf, headerOfNew } from '../message-header.ts';
import type { Meter } from '../meter.ts';
import type { Settler } from '../settling/settler.ts';
import type { Tail } from '../tail.ts';

/** The most requests of one token that are given up at once. The quotas of a sender allow fewer. */
const maxSentWith = 10_000;

/** The dependencies of {@link Cancellations}. */
export interface CancellationsDeps {
  store: InboxStore;
  /** False if another broker may have a message. */
  isAlone: boolean;
  commits: CommitQueue;
  leases: LeaseTable;
  settler: Settler;
  tail: Tail;
  meter: Meter;
  /** Called if a message that is not due could not be cancelled. Its sender is not told. */
  onError: (error: unknown) => void;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Selects messages that an agent works on, by their id or their thread, of one sender or all. `detail` is the reason of the dead letters. */
export interface StopOrder {
  agent: string;
  id?: string | undefined;
  thread?: string | undefined;
  sender?: string | undefined;
  detail: string;
}

/** A message on which an agent no longer works. */
export interface StoppedWork {
  seq: number;
  inbox: string;
  id: string;
  from: string;
  kind: string;
  thread: string;
}

/**
 * Cancels requests, for their sender or because the token that they were sent with no longer exists, and messages that are not due. Stops
 * work on messages for an operator.
 */
export class Cancellations {
  readonly #deps: CancellationsDeps;
  readonly #early = new EarlyCancels({ lifeMs: 60_000, limit: 10_000 });

  constructor(deps: CancellationsDeps) {
    this.#deps = deps;
  }

  /**
   * Cancels the request `id` that `sender` sent to the inbox `to`. If it was not pushed, it is settled. If it was pushed, its holder is
   * told. If another broker has it, the store marks it, and that broker decides in {@link told}. If it has not arrived yet, it is cancelled
   * when it arrives. Resolves with the number of cancelled messages that were not due.
   */
  async cancel(sender: Sender, to: string, id: string): Promise<number> {
    const { store, isAlone, commits, leases, settler, monotonic } = this.#deps;
    const key = cancelKey(to, sender.agent, id);
    this.#early.add(key, monotonic());
    const found = await store.find(to, sender.agent, id);
    if (!found || found.outcome !== undefined) {
      const cancelled = await this.cancelScheduled(sender.agent, to, id);
      if (found || cancelled > 0) this.#early.take(key, monotonic());
      return cancelled;
    }
    if (!this.#early.take(key, monotonic())) return 0;
    const lease = leases.holderOf(to, found.seq);
    const pushed = lease?.inFlight.get(found.seq);
    if (!lease || !pushed) {
      const { kind, senderAddress: address } = found;
      settler.cancel(found.seq, { inbox: to, id, from: { ...sender, address }, kind });
      return 0;
    }
    pushed.cancelled = true;
    lease.consumer.send({ type: 'cancel', correlation_id: id, from: sender });
    // If this broker dies now, the next one does not hand the request out again.
    if (!isAlone) commits.recordCancel(to, found.seq);
    return 0;
  }

  /**
   * Ends requests of this broker that other brokers have cancelled: their consumers are told once, and requests without a consumer are
   * settled.
   */
  told(requests: readonly StoredMetadata[]): void {
    const { leases, settler, commits } = this.#deps;
    for (const stored of requests) {
      const { inbox, seq } = stored;
      const lease = leases.holderOf(inbox, seq);
      const pushed = lease?.inFlight.get(seq);
      if (!lease || !pushed) {
        if (!commits.isSettling(seq)) settler.cancel(seq, headerOf(stored));
      } else if (!pushed.cancelled && !pushed.ended) {
        pushed.cancelled = true;
        lease.consumer.send({ type: 'cancel', correlation_id: pushed.id, from: pushed.from });
      }
    }
  }

  /**
   * Cancels a sender's message that is not due, or its copies for the members of a group. Resolves with the number of cancelled messages
   * when this is durable.
   */
  async cancelScheduled(agent: string, to: string, id: string): Promise<number> {
    const { store, tail, meter } = this.#deps;
    const cancelled = await store.scheduled.cancel(to, agent, id);
    for (const message of cancelled) {
      meter.settled(message.kind, 'cancelled');
      if (tail.isOn) tail.report({ what: 'settled', outcome: 'cancelled' }, message.seq, headerOf(message));
    }
    return cancelled.length;
  }

  /** Cancels a message that was just scheduled if its cancel came before it. */
  cancelScheduledEarly({ inbox, sender, id }: NewMessage): void {
    if (this.#early.isEmpty || !this.#early.take(cancelKey(inbox, sender, id), this.#deps.monotonic()))
      return;
    this.cancelScheduled(sender, inbox, id).catch(this.#deps.onError);
  }

  /** Settles a message that was just stored if its cancel came before it. Returns true if so. */
  settleIfCancelled(message: NewMessage, seq: number): boolean {
    if (this.#early.isEmpty) return false;
    const key = cancelKey(message.inbox, message.sender, message.id);
    if (!this.#early.take(key, this.#deps.monotonic())) return false;
    this.#deps.settler.cancel(seq, headerOfNew(message));
    return true;
  }

  /**
   * Gives up the stored requests that were sent with a token which no longer exists. A holder that has not begun to work on one is told;
   * requests that a handler works on continue. Their senders get `why` in a notice. Resolves when this is durable.
   */
  async cancelSentWith(tokenId: string, why: string): Promise<void> {
    const { store, commits, settler, leases } = this.#deps;
    await commits.written();
    for (const stored of await store.sentWith(tokenId, maxSentWith)) {
      const { inbox, seq } = stored;
      const lease = leases.holderOf(inbox, seq);
      const pushed = lease?.inFlight.get(seq);
      if (pushed?.working) continue;
      const request = headerOf(stored);
      settler.giveUp(seq, request, { outcome: 'cancelled', reason: 'forbidden', detail: why });
      if (!lease || !pushed) continue;
      pushed.ended = true;
      lease.consumer.send({ type: 'cancel', correlation_id: request.id, from: request.from });
    }
    await commits.flushed();
  }

  /**
   * Makes dead letters of the messages that consumers of this broker work on for an agent, and tells the consumers. Resolves with those
   * messages when that is durable.
   */
  async stopWork(order: StopOrder): Promise<StoppedWork[]> {
    const { leases, settler, commits } = this.#deps;
    const { agent, detail } = order;
    const stopped: StoppedWork[] = [];
    for (const lease of [...leases.all()]) {
      if (lease.holder?.agent !== agent) continue;
      for (const [seq, message] of [...lease.inFlight]) {
        if (!isWorkOf(message, order)) continue;
        const { inbox, id, from, kind } = message;
        settler.giveUp(seq, message, { outcome: 'dead', reason: 'dead', detail });
        message.ended = true;
        lease.consumer.send({ type: 'cancel', correlation_id: id, from, stopped: detail });
        stopped.push({ seq, inbox, id, from: from.agent, kind, thread: message.thread ?? id });
      }
    }
    if (stopped.length > 0) await commits.flushed();
    return stopped;
  }
}

function isWorkOf(message: InFlightMessage, { id, thread, sender }: StopOrder): boolean {
  if (!message.working || message.ended || message.cancelled || message.kind === 'mcp_request') return false;
  if (sender !== undefined && message.from.agent !== sender) return false;
  return id === undefined ? (message.thread ?? message.id) === thread : message.id === id;
}

function cancelKey(to: string, sender: string, id: string): string {
  return `${to}\n${sender}\n${id}`;
}

/** Remembers cancels that came before the request that they cancel. Beyond the limit, the oldest is forgotten. */
class EarlyCancels {
  readonly #expiries = new Map<string, number>();
  readonly #lifeMs: number;
  readonly #limit: number;

  /** A cancel is remembered for `lifeMs` milliseconds; there are at most `limit` of them. */
  constructor(options: { lifeMs: number; limit: number }) {
    this.#lifeMs = options.lifeMs;
    this.#limit = options.limit;
  }

  /** True if no cancel is remembered. */
  get isEmpty(): boolean {
    return this.#expiries.size === 0;
  }

  /** Remembers a cancel under a key. `now` is in monotonic milliseconds, here and in {@link take}. */
  add(key: string, now: number): void {
    this.#expiries.delete(key);
    this.#expiries.set(key, now + this.#lifeMs);
    if (this.#expiries.size <= this.#limit) return;
    const oldest = this.#expiries.keys().next();
    if (!oldest.done) this.#expiries.delete(oldest.value);
  }

  /** Forgets the cancel under a key. Returns true if there was one that had not expired. */
  take(key: string, now: number): boolean {
    const expiry = this.#expiries.get(key);
    if (expiry === undefined) return false;
    this.#expiries.delete(key);
    return expiry > now;
  }
}
