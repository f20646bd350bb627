import { hasExpired, type InboxStore } from '@signalbox/store';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Lease } from '../leases/lease.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import { headerOf, isRequest } from '../message-header.ts';
import { damaged, type GiveUpReason, type Settler } from '../settling/settler.ts';
import type { WaitingRequests } from '../settling/waiting-requests.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';
import type { Attempts } from './attempts.ts';

/** The most waiting requests that one check gives up. The next check gives up more. */
const maxExpiredPerCheck = 1000;
const readBatch = 128;
const abandoned: GiveUpReason = {
  outcome: 'expired',
  reason: 'dropped',
  detail: 'nobody held the sub-inbox',
};

/** The dependencies of {@link Deadlines}. */
export interface DeadlinesDeps {
  store: InboxStore;
  leases: LeaseTable;
  dispatcher: Dispatcher;
  settler: Settler;
  attempts: Attempts;
  waiting: WaitingRequests;
  time: ExpiryClock;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Gives up messages whose time is over. Each method does a small step and is called repeatedly. */
export class Deadlines {
  readonly #deps: DeadlinesDeps;
  #isClosed = false;

  constructor(deps: DeadlinesDeps) {
    this.#deps = deps;
  }

  /** Checks the lifetimes of requests, the ack deadlines, the inboxes whose reading failed, and the time in which lost consumers may come back. */
  async check(): Promise<void> {
    if (this.#isClosed) return;
    const { leases, attempts, dispatcher, time } = this.#deps;
    time.look();
    if (!time.hold) dispatcher.pushHeldBack();
    dispatcher.readAgain();
    attempts.countOverdue();
    for (const lease of leases.all()) if (lease.inFlight.size > 0) this.#checkInFlight(lease);
    await this.#checkWaiting();
  }

  /** Gives up some stored messages that have expired or were damaged, and are not in flight. Repeated calls find all of them. */
  async sweep(): Promise<void> {
    const { store, settler, time } = this.#deps;
    const found = await store.sweep(time.look());
    if (this.#isClosed) return;
    for (const message of found) {
      if (this.#isInFlight(message)) continue;
      if (message.damaged) settler.giveUp(message.seq, headerOf(message), damaged);
      else settler.expire(message.seq, headerOf(message));
    }
  }

  /** Gives up every message of an inbox that nobody holds. The senders of its requests get a notice. */
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

  /** Ends the checks: nothing is settled afterwards. */
  close(): void {
    this.#isClosed = true;
  }

  #checkInFlight(lease: Lease): void {
    const { settler, attempts, dispatcher, time } = this.#deps;
    const { ackDeadlineMs } = lease;
    const monotonicNow = this.#deps.monotonic();
    const released: number[] = [];
    for (const [seq, message] of lease.inFlight) {
      if (isRequest(message.kind) && hasExpired(message, time) && !message.cancelled && !message.ended) {
        settler.expire(seq, message);
        message.ended = true;
      }
      if (ackDeadlineMs === undefined || monotonicNow - message.renewedAt < ackDeadlineMs) continue;
      dispatcher.missedDeadline(lease);
      lease.release(seq);
      released.push(seq);
      const reason = `neither settled nor renewed within ${ackDeadlineMs} ms`;
      attempts.givenBack(seq, message, { holder: lease, reason, delayMs: 0, dead: false, counts: true });
    }
    dispatcher.released(lease, released);
  }

  async #checkWaiting(): Promise<void> {
    const { store, settler, waiting, time } = this.#deps;
    for (const { inbox, seq } of waiting.expired(time, maxExpiredPerCheck)) {
      const [message] = await store.read(inbox, seq - 1, 1, 1);
      if (this.#isClosed) return;
      if (this.#isInFlight({ inbox, seq })) continue;
      if (message?.seq === seq) settler.expire(seq, headerOf(message));
      else waiting.remove(seq);
    }
  }

  #isInFlight({ inbox, seq }: { inbox: string; seq: number }): boolean {
    return this.#deps.leases.holderOf(inbox, seq) !== undefined;
  }
}
