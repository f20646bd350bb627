import type { InboxStore } from '@signalbox/store';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Lease } from '../leases/lease.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import { headerOf, isRequest } from '../message-header.ts';
import { expired, type GiveUpReason, type Settler } from '../settling/settler.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';
import type { Attempts } from './attempts.ts';

/** Most requests that expire in one check; the others do so in the next. */
const expiredPerCheck = 1000;
const readBatch = 128;
const abandoned: GiveUpReason = {
  outcome: 'expired',
  reason: 'dropped',
  detail: 'nobody held the sub-inbox',
};

export interface DeadlinesDeps {
  store: InboxStore;
  leases: LeaseTable;
  dispatcher: Dispatcher;
  settler: Settler;
  attempts: Attempts;
  waiting: WaitingRequests;
}

/** Ends messages whose time is over. Its steps are small; each is called again and again. */
export class Deadlines {
  readonly #deps: DeadlinesDeps;
  #isClosed = false;

  constructor(deps: DeadlinesDeps) {
    this.#deps = deps;
  }

  /** Checks the deadlines of requests, pushed or not, of acks, and of consumers that were lost. */
  async check(now: number): Promise<void> {
    if (this.#isClosed) return;
    const { leases, attempts } = this.#deps;
    attempts.countOverdue(now);
    for (const lease of leases.all()) if (lease.inFlight.size > 0) this.#checkInFlight(lease, now);
    await this.#checkWaiting(now);
  }

  /** Settles some messages that are past their lifetime and that nobody holds. Called often enough, it finds all. */
  async sweep(now: number): Promise<void> {
    const { store, settler } = this.#deps;
    const found = await store.sweep(now);
    if (this.#isClosed) return;
    for (const message of found) {
      if (!this.#isInFlight(message)) settler.giveUp(message.seq, headerOf(message), expired);
    }
  }

  /** Settles everything in an inbox that nobody holds. The senders of its requests are told. */
  async clear(address: string): Promise<void> {
    const { store, leases, settler } = this.#deps;
    let after = 0;
    while (!leases.at(address)) {
      const messages = await store.read(address, after, readBatch, 1);
      if (this.#isClosed || messages.length === 0 || leases.at(address)) return;
      for (const message of messages) settler.giveUp(message.seq, headerOf(message), abandoned);
      after = messages.at(-1)!.seq;
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  #checkInFlight(lease: Lease, now: number): void {
    const { settler, attempts, dispatcher } = this.#deps;
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

  async #checkWaiting(now: number): Promise<void> {
    const { store, settler, waiting } = this.#deps;
    for (const { inbox, seq } of waiting.due(now, expiredPerCheck)) {
      const [message] = await store.read(inbox, seq - 1, 1, 1);
      if (this.#isClosed) return;
      if (this.#isInFlight({ inbox, seq })) continue;
      if (message?.seq === seq) settler.giveUp(seq, headerOf(message), expired);
      else waiting.take(seq);
    }
  }

  #isInFlight({ inbox, seq }: { inbox: string; seq: number }): boolean {
    return this.#deps.leases.at(inbox)?.inFlight.has(seq) ?? false;
  }
}
