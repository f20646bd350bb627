import type { Undeliverable } from '@signalbox/protocol';
import type { Outcome } from '@signalbox/store';
import type { CommitQueue } from './commit-queue.ts';
import type { LeaseTable } from './lease-table.ts';
import { isRequest, type MessageHeader } from './message-header.ts';
import type { Tap, TappedMessage } from './tap.ts';
import { undeliverableNotice } from './undeliverable.ts';
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

export interface SettlerPorts {
  commits: CommitQueue;
  leases: LeaseTable;
  waiting: WaitingRequests;
  tap: Tap;
  now: () => number;
}

/** Settles messages that nobody acked. The sender of a request is told in the same commit. */
export class Settler {
  readonly #ports: SettlerPorts;

  constructor(ports: SettlerPorts) {
    this.#ports = ports;
  }

  /** Gives a message up: it will never be dealt with. */
  giveUp(seq: number, message: MessageHeader, { outcome, reason, detail }: GiveUpReason): void {
    const { commits, leases, waiting, tap, now } = this.#ports;
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
    if (tap.isOn) tap.saw({ what: 'settled', outcome, reason: kept }, seq, message);
  }

  /** The sender took the message back itself, so that nobody has to be told. */
  cancel(seq: number, message: TappedMessage): void {
    const { commits, leases, waiting, tap } = this.#ports;
    waiting.take(seq);
    leases.at(message.inbox)?.settledElsewhere(seq);
    commits.settle({ inbox: message.inbox, seq, outcome: 'cancelled' });
    if (tap.isOn) tap.saw({ what: 'settled', outcome: 'cancelled' }, seq, message);
  }
}
