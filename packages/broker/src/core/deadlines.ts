import type { InboxStore } from '@signalbox/store';
import type { Attempts } from './attempts.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Lease } from './lease.ts';
import { type Ending, givenUp, type Settler } from './settler.ts';
import { isRequest } from './undeliverable.ts';
import type { WaitingRequests } from './waiting-requests.ts';

/** Most requests that expire in one tick; the others do so in the next. */
const expiredPerTick = 1000;
const readBatch = 128;
const expired: Ending = { outcome: 'expired', reason: 'expired' };

export interface DeadlinesPorts {
  store: InboxStore;
  dispatcher: Dispatcher;
  settler: Settler;
  attempts: Attempts;
  waiting: WaitingRequests;
}

/** What time does to messages. Its steps are small; each is called every now and then. */
export class Deadlines {
  readonly #ports: DeadlinesPorts;
  #isClosed = false;

  constructor(ports: DeadlinesPorts) {
    this.#ports = ports;
  }

  /** Deadlines: of requests, pushed or not, of acks, and of consumers that were lost. */
  async tick(now: number): Promise<void> {
    const { dispatcher, attempts, waiting, store, settler } = this.#ports;
    if (this.#isClosed) return;
    attempts.tick(now);
    for (const lease of dispatcher.leases.values()) if (lease.inFlight.size > 0) this.#check(lease, now);
    for (const { inbox, seq } of waiting.due(now, expiredPerTick)) {
      const [message] = await store.read(inbox, seq - 1, 1, 1);
      if (this.#isClosed) return;
      if (dispatcher.leases.get(inbox)?.inFlight.has(seq)) continue;
      if (message?.seq === seq) settler.giveUp(seq, givenUp(message), expired);
      else waiting.take(seq);
    }
  }

  /** Settles some messages that are past their lifetime and that nobody holds. Finds all in the end. */
  async sweep(now: number): Promise<void> {
    const { store, dispatcher, settler } = this.#ports;
    const found = await store.sweep(now);
    if (this.#isClosed) return;
    for (const message of found) {
      if (dispatcher.leases.get(message.inbox)?.inFlight.has(message.seq)) continue;
      settler.giveUp(message.seq, givenUp(message), expired);
    }
  }

  /** Settles everything in an inbox that nobody holds; whoever asked something there is told. */
  async clear(address: string): Promise<void> {
    const { store, dispatcher, settler } = this.#ports;
    const abandoned: Ending = { outcome: 'expired', reason: 'dropped', detail: 'nobody held the sub-inbox' };
    let after = 0;
    while (!dispatcher.leases.has(address)) {
      const messages = await store.read(address, after, readBatch, 1);
      if (this.#isClosed || messages.length === 0 || dispatcher.leases.has(address)) return;
      for (const message of messages) settler.giveUp(message.seq, givenUp(message), abandoned);
      after = messages.at(-1)!.seq;
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  #check(lease: Lease, now: number): void {
    const { settler, attempts, dispatcher } = this.#ports;
    const { ackDeadlineMs } = lease;
    for (const [seq, message] of lease.inFlight) {
      if (message.expiresAt <= now && isRequest(message.kind) && !message.cancelled && !message.ended) {
        settler.giveUp(seq, message, expired);
        message.ended = true;
      }
      if (ackDeadlineMs === undefined || now - message.renewedAt < ackDeadlineMs) continue;
      lease.release(seq);
      const reason = `neither settled nor renewed within ${ackDeadlineMs} ms`;
      attempts.givenBack(seq, message, { reason, delayMs: 0, dead: false });
    }
    dispatcher.pump(lease);
  }
}
