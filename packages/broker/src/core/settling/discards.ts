import { configuredSenderPrefixes } from '@signalbox/protocol';
import type { InboxStore } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import { headerOf } from '../message-header.ts';
import type { Settler } from './settler.ts';

const readBatch = 128;

/** The dependencies of {@link Discards}. */
export interface DiscardsDeps {
  store: Pick<InboxStore, 'read' | 'inboxBacklogs'>;
  commits: Pick<CommitQueue, 'isSettling'>;
  settler: Pick<Settler, 'discard'>;
}

/** Discards stored messages to configured senders, which read nothing: notices, and messages that were left when the broker ended. */
export class Discards {
  readonly #deps: DiscardsDeps;
  #isClosed = false;

  constructor(deps: DiscardsDeps) {
    this.#deps = deps;
  }

  /** Discards every message in an inbox. */
  async all(inbox: string): Promise<void> {
    const { store, commits, settler } = this.#deps;
    let after = 0;
    while (!this.#isClosed) {
      const messages = await store.read(inbox, after, readBatch, 1);
      if (this.#isClosed || messages.length === 0) return;
      for (const message of messages) {
        after = message.seq;
        if (!commits.isSettling(after)) settler.discard(after, headerOf(message));
      }
    }
  }

  /** Discards every message in the inboxes of configured senders. */
  async allLeft(): Promise<void> {
    for (const prefix of configuredSenderPrefixes()) {
      for (let after: string | undefined = prefix; after !== undefined; ) {
        const inboxes = await this.#deps.store.inboxBacklogs(after, readBatch);
        const own = inboxes.map(({ inbox }) => inbox).filter((inbox) => inbox.startsWith(prefix));
        for (const inbox of own) await this.all(inbox);
        after = own.length === readBatch ? own.at(-1) : undefined;
      }
    }
  }

  /** Stops discarding. */
  close(): void {
    this.#isClosed = true;
  }
}
