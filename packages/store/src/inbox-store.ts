import type { Excess } from './caps.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { ExpiryTime } from './expiry-time.ts';
import type { HistoryPage, HistoryQuery } from './history.ts';
import type { NewMessage, Outcome, SentToAll, StoredMessage, StoredMetadata } from './message.ts';
import type { ScheduledMessages } from './scheduled-messages.ts';

/**
 * The answer to one {@link NewMessage}. With `duplicate`, `id_conflict` and `already_answered` nothing is stored, but `settles` takes
 * effect; the other refusals change nothing. `already_answered`: the request that the message answers has its end. If it was pending,
 * it is acked, and `acked` names it. `no_request`: the replier was never sent such a request. A message with `copies` is answered with
 * what became of them, a repeat as the first one was. `thread` is that of the request that the message answers, if it is not the
 * request's id. `after` is there in a store of several brokers: the message comes right after this one in its inbox, or after one that is
 * settled; it is higher than any number if this broker does not hold the inbox, and `isHeldElsewhere` tells
 * whether another one does. `scheduled`: it waits for its time. `gone`: the message to be released was
 * cancelled. `isDamaged`: a released message has lost its body, and must not be given to a consumer.
 */
export type Appended =
  | {
      result: 'stored';
      seq: number;
      after?: number;
      isHeldElsewhere?: true;
      thread?: string;
      sent?: SentToAll;
      copies?: readonly { inbox: string; seq: number }[];
      isDamaged?: boolean;
    }
  | { result: 'scheduled'; sent?: SentToAll }
  | { result: 'gone' }
  | { result: 'duplicate'; sent?: SentToAll }
  | ({ result: 'id_conflict' } & OfRecipient)
  | { result: 'already_answered'; acked?: { inbox: string; seq: number } }
  | { result: 'no_request' }
  | ({ result: 'inbox_full' } & OfRecipient)
  | ({ result: 'quota_exceeded' } & Excess & OfRecipient)
  | ({ result: 'storage_full' } & OfRecipient);

/** The recipient of `copies` who can't be given a message, so that nobody was. */
export interface OfRecipient {
  recipient?: string;
}

export interface Settlement {
  inbox: string;
  seq: number;
  outcome: Outcome;
  /** The reason, at most 500 characters. */
  reason?: string;
  /**
   * A message that is stored in the same commit if, and only if, this settlement takes effect and the settled request was not answered.
   * It does not count against its sender. If its inbox or its recipient is full, it is left out and the settlement takes effect all the same.
   */
  notice?: NewMessage;
  /**
   * In a store of several brokers, the body of the notice if no broker can have handed the message out. The store knows that of messages
   * that this broker does not hold. `isKnown` tells it of those that this one holds.
   */
  ifNotHandedOut?: { body: string; isKnown: boolean };
  /**
   * Has the message marked as cancelled if another broker has it, so that the settlement is left out. That broker is told, and a later one that
   * reads the message sees the mark.
   */
  orMark?: true;
}

/** A message of a group's inbox that was handed to an agent, which may answer it from then on. */
export interface Taking {
  inbox: string;
  seq: number;
  agent: string;
}

/**
 * The changes of one commit, applied in this order: takings, messages with their `settles`, attempts, settlements with their `notice`. Each
 * change sees those before it: a repeated id within the batch is a duplicate, and a message that was just stored may be settled.
 */
export interface Batch {
  takings?: readonly Taking[];
  messages: readonly NewMessage[];
  attempts: readonly { inbox: string; seq: number; attempts: number }[];
  settlements: readonly Settlement[];
  /** Requests that were cancelled while consumers of this broker have them. In a store of several brokers they are marked. */
  cancelled?: readonly { inbox: string; seq: number }[];
}

/** A message that {@link InboxStore.find} found, pending or settled. */
export interface FoundMessage {
  seq: number;
  kind: string;
  senderAddress: string;
  /** Absent while the message is pending. */
  outcome?: Outcome;
}

/**
 * Names a request: who sent it, its id, and who answers it, with the inboxes to which it may have come. In the inboxes of `groups` it
 * counts only if the replier has taken it.
 */
export interface RequestKey {
  requester: string;
  id: string;
  replier: string;
  replierAddress: string;
  groups?: readonly string[] | undefined;
}

/**
 * `open`: a reply to the request can be stored. `over`: it has its reply, was given up, or its time is over. `unknown`: no such request
 * came to the replier.
 */
export type RequestState = 'open' | 'over' | 'unknown';

/**
 * Counts of the pending messages of an inbox; `bytes` are those of their bodies. `headSeq` is the highest of their sequence numbers, 0
 * for none.
 */
export interface InboxStats {
  pending: number;
  bytes: number;
  headSeq: number;
}

/** The pending messages of one inbox. */
export interface InboxBacklog {
  inbox: string;
  /** Messages. */
  pending: number;
  /** Bytes of their bodies. */
  bytes: number;
  /** The lowest of their sequence numbers. */
  oldestSeq: number;
}

/** Everything that is stored in all inboxes together. */
export interface Backlog {
  /** Pending messages. */
  pending: number;
  /** The time of creation of the pending message with the lowest sequence number, in epoch milliseconds. Absent if nothing is pending. */
  oldestAt?: number;
  /** Dead letters. */
  dead: number;
  /** Messages that are not due. */
  scheduled: number;
}

/** Agents for which messages wait, and the cursor of the next page if there may be more. */
export interface WaitingPage {
  agents: WaitingAgent[];
  cursor?: string;
}

/** The messages that wait in an agent's own inbox, without its sub-inboxes. */
export interface WaitingAgent {
  agent: string;
  pending: number;
  /** The time when the first of these messages was created, in epoch milliseconds. */
  oldestAt: number;
}

/** The generations of an execution journal: those to which the inbox may be bound for it, and the one to which it is bound now. */
export interface JournalClaim {
  previous: readonly string[];
  next: string;
}

/**
 * Keeps pending messages, and the metadata of settled ones. Leases, windows and deadlines belong to the broker and not to the
 * store.
 *
 * Sequence numbers are positive, unique in the whole store, and never used again, not even if a power cut took the message before it
 * was durable. Within an inbox they ascend in the order in which messages can be read: once a message was read, no other one appears
 * with a lower number. They have gaps, and the order of numbers of different inboxes means nothing.
 *
 * Methods see all commits that resolved before they were called. They reject with a `StoreError`, and only when the medium fails; a
 * rejected `commit` has changed nothing, but for one that rejects with `store_unavailable`: it has changed nothing or everything. When a sync fails, or the medium refuses several changes in a row for another reason than
 * lack of room, the store has failed for good: every change rejects with an error that `isFinal`.
 */
export interface InboxStore extends AsyncDisposable {
  /** The messages that were settled as `dead`, whole. */
  readonly dead: DeadLetters;
  /** The messages that are not due. */
  readonly scheduled: ScheduledMessages;
  /** What a durable message survives, and the size of the largest body that callers may give. */
  readonly caps: { receiptMeans: 'fsynced' | 'written' | 'replicated'; maxBodyBytes: number };
  /** A repeated id is recognised at least this long after its message was settled, in milliseconds. */
  readonly dedupeWindowMs: number;
  /**
   * Applies a batch as one step and answers for each message in order. When it resolves, the changes can be read and survive the
   * end of the process; they are durable after the next {@link sync}. Settling a message twice, or with another inbox than its
   * own, changes nothing, and its notice is not stored. The caller keeps bodies within `caps.maxBodyBytes`.
   */
  commit(batch: Batch): Promise<Appended[]>;
  /**
   * Resolves when everything that was committed before the call is durable. Commits become durable in their order. Returns
   * `undefined` if a commit needs no sync. Rejects when the medium fails; from then on every commit rejects. Changes of other
   * methods are durable when these resolve, except for housekeeping.
   */
  sync(): Promise<void> | undefined;
  /** Reads pending messages of an inbox after `afterSeq`, in order, up to `limit` messages and `maxBytes` of bodies, but at least one. */
  read(inbox: string, afterSeq: number, limit: number, maxBytes: number): Promise<StoredMessage[]>;
  /**
   * Finds a message by the id that its sender gave it: the pending one, or else the one that was stored last. Settled messages are
   * found while the dedupe window lasts, and perhaps longer.
   */
  find(inbox: string, sender: string, id: string): Promise<FoundMessage | undefined>;
  /** Finds the messages of up to `limit` senders with one id, as {@link find} does for each of them, in any order. */
  findOfAnySender(inbox: string, id: string, limit: number): Promise<FoundMessage[]>;
  /** Tells whether a request can be answered now. */
  requestState(request: RequestKey): Promise<RequestState>;
  /** Pending messages of all inboxes that were stored with this `tokenId`, by ascending sequence numbers. */
  sentWith(tokenId: string, limit: number): Promise<StoredMetadata[]>;
  /**
   * Pending messages of an inbox that have attempts, or whose sequence numbers are among `seqs`, in order. Only the first 10,000
   * messages of the inbox are looked at: consumers never hold more.
   */
  tried(inbox: string, seqs: readonly number[], limit: number): Promise<StoredMetadata[]>;
  stats(inbox: string): Promise<InboxStats>;
  /**
   * Returns agents in whose own inboxes messages wait, in ascending order of their code units, after `after`. It looks at most at `limit`
   * agents for which anything is stored, so that a page may hold fewer and still have a cursor. It reads no message but the oldest of each.
   */
  waiting(after: string, limit: number): Promise<WaitingPage>;
  /**
   * Counts what is pending in the inboxes after a name, in ascending order of their names, without a look at any message. A damaged count
   * may be wrong until it is repaired.
   */
  inboxBacklogs(after: string, limit: number): Promise<InboxBacklog[]>;
  /**
   * Counts what is stored in all inboxes together. It looks for the oldest message at an entry for each inbox, and is meant for people who
   * ask now and then.
   */
  backlog(): Promise<Backlog>;
  /** The bytes of everything that is stored, settled metadata and dead letters included, and the cap on them. */
  usage(): Promise<{ usedBytes: number; maxBytes: number }>;
  /**
   * Proves that the medium works: writes something, makes it durable and reads it again. Resolves with `full` if messages are refused for
   * lack of room on the disk. Rejects as {@link commit} and {@link sync} do.
   */
  prove(): Promise<'works' | 'full'>;
  /** Pending and settled messages by time of creation. It may take a while, during which the store goes on with its work. */
  history(query: HistoryQuery): Promise<HistoryPage>;
  /** Names of inboxes with pending messages, after `after`, in ascending order of their code units and not of a locale. */
  inboxes(after: string, limit: number): Promise<string[]>;
  /**
   * Does one small step of housekeeping: forgets old settled messages, checks whether a medium that was full or refused a change
   * takes changes again, and returns some pending messages that have expired, and some that are damaged, which the caller settles.
   * Repeated calls cover everything that has expired, and return a message again until it is settled. Settled messages are kept for
   * `dedupeWindowMs` of running time after the store was opened and after each leap of `time`.
   */
  sweep(time: ExpiryTime): Promise<StoredMetadata[]>;
  /** Counts the pending messages that would have expired at a time, by kind. It may take a while, as {@link history} does. */
  countExpired(time: ExpiryTime): Promise<Record<string, number>>;
  /** Remembers the time that the caller has reached. A power cut may undo that. */
  keepTime(time: ExpiryTime): Promise<void>;
  /** Returns the time that was kept last; `undefined` in a new store. */
  keptTime(): Promise<ExpiryTime | undefined>;
  /**
   * Binds an inbox to a generation of the execution journal behind it. Returns the sequence number up to which messages of the inbox
   * are foreign to the journal, 0 for none: something else than the journal in its present state may have handled them.
   */
  bindJournal(inbox: string, claim: JournalClaim): Promise<number>;
  /** The id of this store, which was made with it and never changes. */
  identity(): Promise<string>;
}
