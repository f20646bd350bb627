import type { Undeliverable } from '@signalbox/protocol';
import type { Outcome, StoredMetadata } from '@signalbox/store';
import type { CommitQueue } from './commit-queue.ts';
import { type GivenUp, isRequest, undeliverable } from './undeliverable.ts';
import type { WaitingRequests } from './waiting-requests.ts';

const maxReason = 500;

/** Why a message ends that nobody acked. */
export interface Ending {
  outcome: Exclude<Outcome, 'acked'>;
  /** What the sender of a request is told. */
  reason: Undeliverable['reason'];
  detail?: string;
}

/** Ends messages that nobody acked; whoever waits for an answer is told in the same commit. */
export class Endings {
  readonly #commits: CommitQueue;
  readonly #waiting: WaitingRequests;
  readonly #now: () => number;

  constructor(commits: CommitQueue, waiting: WaitingRequests, now: () => number) {
    this.#commits = commits;
    this.#waiting = waiting;
    this.#now = now;
  }

  giveUp(seq: number, message: GivenUp, { outcome, reason, detail }: Ending): void {
    const waited = this.#waiting.take(seq);
    const kept = detail?.slice(0, maxReason);
    const told = {
      reason,
      may_have_run: waited?.wasPushed ?? true,
      ...(kept !== undefined && { detail: kept }),
    };
    this.#commits.settle({
      inbox: message.inbox,
      seq,
      outcome,
      ...(kept !== undefined && { reason: kept }),
      ...(isRequest(message.kind) && { notice: undeliverable(message, told, this.#now()) }),
    });
  }

  /** The sender gave it up itself: nobody has to be told. */
  cancel(inbox: string, seq: number): void {
    this.#waiting.take(seq);
    this.#commits.settle({ inbox, seq, outcome: 'cancelled' });
  }
}

/** What the store knows of a message, as what ends. */
export function givenUp(stored: StoredMetadata): GivenUp {
  const { inbox, id, kind, createdAt, expiresAt } = stored;
  const from = { agent: stored.sender, address: stored.senderAddress, role: stored.senderRole };
  return { inbox, id, from, kind, createdAt, expiresAt };
}
