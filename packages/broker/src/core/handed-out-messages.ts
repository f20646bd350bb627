import type { InboxStore } from '@signalbox/store';
import type { CommitQueue } from './commits/commit-queue.ts';
import type { AttemptHistories } from './endings/attempt-histories.ts';
import type { LeaseTable } from './leases/lease-table.ts';

export interface HandedOutMessagesDeps {
  store: InboxStore;
  commits: CommitQueue;
  leases: LeaseTable;
  histories: AttemptHistories;
}

/** Answers questions about messages that were pushed to a consumer and are not settled. It changes nothing. */
export class HandedOutMessages {
  readonly #deps: HandedOutMessagesDeps;

  constructor(deps: HandedOutMessagesDeps) {
    this.#deps = deps;
  }

  /** Counts the messages that the present holder of an inbox has. */
  count(address: string): number {
    let held = 0;
    const lease = this.#deps.leases.at(address);
    if (lease) for (const { ended } of lease.inFlight.values()) if (!ended) held++;
    return held;
  }

  /** Tells whether a consumer was handed a message and has not settled it. */
  has(address: string, seq: number): boolean {
    return this.#deps.leases.holderOf(address, seq) !== undefined;
  }

  /** Tells whether the present holder of a message has said that it works on it. */
  isWorkedOn(address: string, seq: number): boolean {
    const message = this.#deps.leases.holderOf(address, seq)?.inFlight.get(seq);
    return message?.working === true && !message.ended;
  }

  /**
   * Returns the ids of at most `limit` messages of an inbox that the consumer with this token was the last to try and that are not
   * settled, in order.
   */
  async leftBehind(address: string, tokenId: string, limit: number): Promise<string[]> {
    const { store, commits, histories } = this.#deps;
    const seqs = histories.triedWith(tokenId);
    if (seqs.size === 0) return [];
    await commits.written();
    const tried = await store.tried(address, [...seqs], Number.MAX_SAFE_INTEGER);
    const left = tried.filter(({ seq }) => seqs.has(seq));
    return left.slice(0, limit).map(({ id }) => id);
  }
}
