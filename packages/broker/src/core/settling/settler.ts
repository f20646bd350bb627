import type { Undeliverable } from '@signalbox/protocol';
import type { Outcome } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { InFlightMessage } from '../leases/lease.ts';
import type { LeaseTable } from '../leases/lease-table.ts';
import { isRequest, type MessageHeader } from '../message-header.ts';
import type { Tail, TailMessage } from '../tail.ts';
import { undeliverableNotice } from './undeliverable-notice.ts';
import type { WaitingRequests } from './waiting-requests.ts';

const maxReason = 500;

/** The reason why a message is given up. */
export interface GiveUpReason {
  outcome: Exclude<Outcome, 'acked'>;
  /** The reason that the sender of a request is told. */
  reason: Undeliverable['reason'];
  detail?: string;
}

export const expired: GiveUpReason = { outcome: 'expired', reason: 'expired' };

export interface SettlerDeps {
  commits: CommitQueue;
  leases: LeaseTable;
  waiting: WaitingRequests;
  tail: Tail;
  now: () => number;
}

/** Settles messages, and tells the tail. The sender of a request that is given up is told in the same commit. */
export class Settler {
  readonly #deps: SettlerDeps;

  constructor(deps: SettlerDeps) {
    this.#deps = deps;
  }

  /** The consumer is done with a message. */
  ack(seq: number, message: InFlightMessage): void {
    this.#deps.commits.settle({ inbox: message.inbox, seq, outcome: 'acked' });
    this.ackedByReply(seq, message);
  }

  /** A message was acked in the commit that stored its reply. */
  ackedByReply(seq: number, message: InFlightMessage): void {
    const { tail } = this.#deps;
    if (tail.isOn && !message.ended) tail.saw({ what: 'settled', outcome: 'acked' }, seq, message);
  }

  /** Gives a message up: it will never be dealt with. */
  giveUp(seq: number, message: MessageHeader, { outcome, reason, detail }: GiveUpReason): void {
    const { commits, leases, waiting, tail, now } = this.#deps;
    const waited = waiting.take(seq);
    const kept = detail?.slice(0, maxReason);
    const told = {
      reason,
      may_have_run: waited?.wasPushed ?? true,
      ...(kept !== undefined && { detail: kept }),
    };
    leases.at(message.inbox)?.settledElsewhere(seq);
    commits.settle({
      inbox: message.inbox,
      seq,
      outcome,
      ...(kept !== undefined && { reason: kept }),
      ...(isRequest(message.kind) && { notice: undeliverableNotice(message, told, now()) }),
    });
    if (tail.isOn) tail.saw({ what: 'settled', outcome, reason: kept }, seq, message);
  }

  /** The sender took the message back itself, so that nobody has to be told. */
  cancel(seq: number, message: TailMessage): void {
    const { commits, leases, waiting, tail } = this.#deps;
    waiting.take(seq);
    leases.at(message.inbox)?.settledElsewhere(seq);
    commits.settle({ inbox: message.inbox, seq, outcome: 'cancelled' });
    if (tail.isOn) tail.saw({ what: 'settled', outcome: 'cancelled' }, seq, message);
  }
}
