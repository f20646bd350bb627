import type { InboxStore } from '@signalbox/store';
import type { CommitQueue } from './commits/commit-queue.ts';
import type { Attempts } from './endings/attempts.ts';
import type { LeaseTable } from './leases/lease-table.ts';

export interface HeldMessagesDeps {
  store: InboxStore;
  commits: CommitQueue;
  leases: LeaseTable;
  attempts: Attempts;
}

/** Answers questions about messages that were pushed to a consumer and are not settled. It changes nothing. */
export class HeldMessages {
  readonly #deps: HeldMessagesDeps;

  constructor(deps: HeldMessagesDeps) {
    this.#deps = deps;
  }

  /** Counts the messages that the present holder of an inbox has. */
  count(address: string): number {
    let held = 0;
    const lease = this.#deps.leases.at(address);
    if (lease) for (const { ended } of lease.inFlight.values()) if (!ended) held++;
    return held;
  }

  /**
   * Returns the ids of at most `limit` messages that the last holder of an inbox left behind, in order: those that it was working on
   * when its lease ended, and those with failed attempts.
   */
  async leftBehind(address: string, limit: number): Promise<string[]> {
    const { store, commits, attempts } = this.#deps;
    const unfinished = attempts.unfinishedAt(address);
    await commits.written();
    const tried = await store.tried(address, unfinished, limit);
    return tried.map(({ id }) => id);
  }
}
