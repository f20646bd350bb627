import type { Undeliverable } from '@signalbox/protocol';
import type { Outcome, StoredMetadata } from '@signalbox/store';
import type { CommitQueue } from './commit-queue.ts';
import type { Tap, TappedMessage } from './tap.ts';
import { isRequest, type MessageHeader, undeliverable } from './undeliverable.ts';
import type { WaitingRequests } from './waiting-requests.ts';

const maxReason = 500;

/** Why a message ends that nobody acked. */
export interface Ending {
  outcome: Exclude<Outcome, 'acked'>;
  /** What the sender of a request is told. */
  reason: Undeliverable['reason'];
  detail?: string;
}

export interface SettlerPorts {
  commits: CommitQueue;
  waiting: WaitingRequests;
  tap: Tap;
  now: () => number;
}

/** Ends messages that nobody acked; whoever waits for an answer is told in the same commit. */
export class Settler {
  readonly #ports: SettlerPorts;

  constructor(ports: SettlerPorts) {
    this.#ports = ports;
  }

  giveUp(seq: number, message: MessageHeader, { outcome, reason, detail }: Ending): void {
    const { commits, waiting, tap, now } = this.#ports;
    const waited = waiting.take(seq);
    const kept = detail?.slice(0, maxReason);
    const told = {
      reason,
      may_have_run: waited?.wasPushed ?? true,
      ...(kept !== undefined && { detail: kept }),
    };
    commits.settle({
      inbox: message.inbox,
      seq,
      outcome,
      ...(kept !== undefined && { reason: kept }),
      ...(isRequest(message.kind) && { notice: undeliverable(message, told, now()) }),
    });
    if (tap.isOn) tap.saw({ what: 'settled', outcome, reason: kept }, seq, message);
  }

  /** The sender gave it up itself: nobody has to be told. */
  cancel(seq: number, message: TappedMessage): void {
    const { commits, waiting, tap } = this.#ports;
    waiting.take(seq);
    commits.settle({ inbox: message.inbox, seq, outcome: 'cancelled' });
    if (tap.isOn) tap.saw({ what: 'settled', outcome: 'cancelled' }, seq, message);
  }
}

/** What the store knows of a message, as what ends. */
export function givenUp(stored: StoredMetadata): MessageHeader {
  const { inbox, id, kind, correlationId, createdAt, expiresAt, size } = stored;
  const from = { agent: stored.sender, address: stored.senderAddress, role: stored.senderRole };
  return { inbox, id, from, kind, correlationId, createdAt, expiresAt, size };
}
