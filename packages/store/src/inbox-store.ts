import type { DeadLetters } from './dead-letters.ts';
import type { HistoryPage, HistoryQuery } from './history.ts';
import type { NewMessage, Outcome, StoredMessage, StoredMetadata } from './message.ts';

/** What became of one {@link NewMessage}. `duplicate` and `id_conflict` store nothing; the refusals change nothing. */
export type Appended =
  | { result: 'stored'; seq: number }
  | { result: 'duplicate' }
  | { result: 'id_conflict' }
  | { result: 'inbox_full' }
  | { result: 'quota_exceeded' }
  | { result: 'storage_full' };

export interface Settlement {
  inbox: string;
  seq: number;
  outcome: Outcome;
  /** Why; at most 500 characters. */
  reason?: string;
  /**
   * Stored in the same commit if, and only if, this settlement takes effect. It is exempt from the quota of its sender; where
   * its inbox is full it is left out and the settlement stands.
   */
  notice?: NewMessage;
}

/** What one commit applies, in this order: messages (with their `settles`), attempts, settlements (with their `notice`). */
export interface Batch {
  messages: readonly NewMessage[];
  attempts: readonly { inbox: string; seq: number; attempts: number }[];
  settlements: readonly Settlement[];
}

/** What `find` knows of a message, settled ones included while the dedupe window lasts. */
export interface FoundMessage {
  seq: number;
  kind: string;
  senderAddress: string;
  /** Absent while the message is not settled. */
  outcome?: Outcome;
}

/** Of the unsettled messages of an inbox; `headSeq` is the highest of their sequence numbers, 0 for none. */
export interface InboxStats {
  pending: number;
  bytes: number;
  headSeq: number;
}

/** Hard caps, checked in the storing commit. The caller knows the figures; a cap that is not given does not bound anything. */
export interface StoreCaps {
  maxInboxMessages: number;
  maxInboxBytes: number;
  maxPendingPerSender: number;
  maxTotalBytes: number;
}

/**
 * The messages that are not settled yet, and the metadata of those that are. What is in flight (leases, windows,
 * deadlines) is the broker's, not the store's. Sequence numbers are opaque, ordered within an inbox, never reused, not even
 * where the messages that bore them were lost because they were not durable yet.
 * Methods reject (with a `StoreError`) only when the medium fails; a rejected `commit` has changed nothing.
 */
export interface InboxStore extends AsyncDisposable {
  /** The messages that were settled as `dead`. */
  readonly dead: DeadLetters;
  /** What durable means here, and the largest body that is taken. */
  readonly caps: { receiptMeans: 'fsynced' | 'written' | 'replicated'; maxBodyBytes: number };
  /** How long a repeated id is recognised after its message was settled, at least, in milliseconds. */
  readonly dedupeWindowMs: number;
  /**
   * Applies a batch as one step and answers for each message in order. When it resolves, all can be read, in this process and
   * after its end; it is durable after the next {@link sync}. Settling twice changes nothing, nor does a settlement whose inbox
   * isn't the message's. The caller keeps bodies within `caps.maxBodyBytes`.
   */
  commit(batch: Batch): Promise<Appended[]>;
  /**
   * Resolves when all that was committed before the call is durable, in the order of the commits; `undefined` where a commit
   * is as durable as it gets. Rejects when the medium fails; from then on nothing is committed any more. What other methods
   * change is durable when they resolve, save for housekeeping.
   */
  sync(): Promise<void> | undefined;
  /** Unsettled messages of an inbox after `afterSeq`, in order, until `limit` messages or `maxBytes` of bodies (at least one). */
  read(inbox: string, afterSeq: number, limit: number, maxBytes: number): Promise<StoredMessage[]>;
  /** One message by its sender's id. */
  find(inbox: string, sender: string, id: string): Promise<FoundMessage | undefined>;
  /** Unsettled messages that were stored with this `tokenId`, in order. */
  sentWith(tokenId: string, limit: number): Promise<StoredMetadata[]>;
  /**
   * Unsettled messages of an inbox that a consumer tried, by their attempts, or whose sequence numbers are among `seqs`; in
   * order. Looks no further than the first 10,000 of the inbox: no more are ever in the hands of consumers.
   */
  tried(inbox: string, seqs: readonly number[], limit: number): Promise<StoredMetadata[]>;
  stats(inbox: string): Promise<InboxStats>;
  /** What is stored in all, settled metadata and dead letters included, and the cap on it. */
  usage(): Promise<{ usedBytes: number; maxBytes: number }>;
  /** Settled and unsettled messages, as far back as settled ones are remembered. May take a while; nothing waits for it. */
  history(query: HistoryQuery): Promise<HistoryPage>;
  /** Inboxes that hold unsettled messages, in name order, after `after`. */
  inboxes(after: string, limit: number): Promise<string[]>;
  /**
   * One small step of housekeeping: drops dedupe slices past the window, looks whether a full medium has room again, and
   * returns some unsettled messages that are past their expiry, which the caller settles. Calling it again and again
   * covers everything.
   */
  sweep(now: number): Promise<StoredMetadata[]>;
  /**
   * Remembers `journalId` as the execution journal behind an inbox, in place of any other. False if it replaced one.
   */
  bindJournal(inbox: string, journalId: string): Promise<boolean>;
  /** A stable id of this store, made when it was created. */
  identity(): Promise<string>;
}
