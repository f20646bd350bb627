import type { Excess } from './caps.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { ExpiryTime, KeptTime } from './expiry-time.ts';
import type { HistoryPage, HistoryQuery } from './history.ts';
import type { KeptBodies } from './kept-bodies.ts';
import type { NewMessage, Outcome, SentToAll, StoredMessage, StoredMetadata } from './message.ts';
import type { ScheduledMessages } from './scheduled-messages.ts';

/**
 * The answer to one {@link NewMessage}. With `duplicate`, `id_conflict` and `already_answered` nothing is stored, but `settles` takes
 * effect; the other refusals change nothing. `already_answered`: the request that the message answers has ended. If it was pending, it is
 * acked, and `acked` names it. `no_request`: the replier was never sent this request. `other_address`: the request was sent from another
 * address of its sender, `address`. A message with `copies` is answered with the outcome of each copy, and its repeat gets the same answer.
 * `thread` is the thread of the request that the message answers, if it differs from the request's id, and `request` is the request that a reply with `asked` acked. `after` is set in a store of several brokers: in its inbox the message follows the message with this number, or one that is
 * settled. It is higher than any number if this broker does not hold the inbox; `isLeasedElsewhere` then tells whether another broker does.
 * `scheduled`: the message waits for its time. `gone`: the message to be released was cancelled. `isDamaged`: a released message has lost
 * its body, and must not be given to a consumer.
 */
export type Appended =
  | {
      result: 'stored';
      seq: number;
      after?: number;
      isLeasedElsewhere?: true;
      thread?: string;
      request?: StoredMetadata;
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
  | { result: 'other_address'; address: string }
  | ({ result: 'inbox_full' } & OfRecipient)
  | ({ result: 'quota_exceeded' } & Excess & OfRecipient)
  | ({ result: 'storage_full' } & OfRecipient);

/** The recipient of `copies` to whom the message can't be given, so that nobody got it. */
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
   * A message that the same commit stores if, and only if, this settlement takes effect and the settled request was not answered. It does
   * not count against its sender. If its inbox or its recipient is full, it is left out, and the settlement still takes effect.
   */
  notice?: NewMessage;
  /**
   * In a store of several brokers, the body of the notice if no broker can have handed the message out. The store knows whether one can for
   * messages that this broker does not hold. `isKnown` says it for those that this broker holds.
   */
  ifNotHandedOut?: { body: string; isKnown: boolean };
  /**
   * True: if another broker has the message, the message is marked as cancelled and is not settled. That broker is told, and a later broker
   * that reads the message sees the mark.
   */
  orMark?: true;
}

/** A message of a group's inbox that was handed to an agent. From then on the agent may answer it. */
export interface Taking {
  inbox: string;
  seq: number;
  agent: string;
}

/**
 * The changes of one commit, applied in this order: takings, messages with their `settles`, attempts, settlements with their `notice`. Each
 * change sees those before it: a repeated id within the batch is a duplicate, and a message of the batch may be settled in it.
 */
export interface Batch {
  takings?: readonly Taking[];
  messages: readonly NewMessage[];
  attempts: readonly { inbox: string; seq: number; attempts: number }[];
  settlements: readonly Settlement[];
  /** Requests that were cancelled while consumers of this broker have them. A store of several brokers marks them. */
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
 * Names a request by its sender, its id, its replier, and the inboxes to which it may have come. In the inboxes of `groups` it counts only
 * if the replier has taken it.
 */
export interface RequestKey {
  requester: string;
  id: string;
  replier: string;
  replierAddress: string;
  groups?: readonly string[] | undefined;
}

/**
 * The state of a request. `open`: a reply to it can be stored. `over`: it has its reply, was given up, or its time is over. `unknown`: the
 * replier never got this request.
 */
export type RequestState = 'open' | 'over' | 'unknown';

/**
 * Counts of an inbox's pending messages; `bytes` counts their bodies. `headSeq` is the highest of their sequence numbers, or 0 if there are
 * none.
 */
export interface InboxStats {
  pending: number;
  bytes: number;
  headSeq: number;
}

/** The amount of pending messages in one inbox. */
export interface InboxBacklog {
  inbox: string;
  /** The number of messages. */
  pending: number;
  /** The bytes of their bodies. */
  bytes: number;
  /** The lowest of their sequence numbers. */
  oldestSeq: number;
}

/** The amount of everything that is stored in all inboxes together. */
export interface Backlog {
  /** Pending messages. */
  pending: number;
  /** The time when the pending message with the lowest sequence number was created, in epoch milliseconds. Absent if nothing is pending. */
  oldestAt?: number;
  /** Dead letters. */
  dead: number;
  /** Messages that are not due. */
  scheduled: number;
}

/** Agents with waiting messages, and the cursor of the next page if there may be more. */
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

/** The generations of an execution journal: those to which the inbox may be bound for it, and its present one. */
export interface JournalClaim {
  previous: readonly string[];
  next: string;
}

/** The binding of an inbox to an execution journal. */
export interface JournalBound {
  /** The sequence number up to which messages of the inbox are foreign to the journal, or 0 if none are. */
  foreignUpTo: number;
  /** The generation with which something foreign was bound last. It changes whenever the journal is foreign to the one before. */
  epoch: string;
}

/**
 * Keeps pending messages, and the metadata of settled ones. Leases, windows and deadlines belong to the broker.
 *
 * Sequence numbers are positive, unique in the whole store, and never used again, not even if a power cut removed the message before it was
 * durable. Within an inbox they ascend in the order in which messages can be read: once a message was read, no other one appears with a
 * lower number. They have gaps, and the order of numbers of different inboxes means nothing.
 *
 * Methods see all commits that resolved before they were called. They reject with a `StoreError`, and only when the medium fails. A
 * rejected `commit` has changed nothing; if it rejects with `store_unavailable`, it has changed nothing or everything. The store fails for
 * good when a sync fails, or when the medium refuses several changes in a row for another reason than lack of room. Then every change
 * rejects with an error that `isFinal`.
 */
export interface InboxStore extends AsyncDisposable {
  /** The messages that were settled as `dead`, with their bodies. */
  readonly dead: DeadLetters;
  /** The messages that are not due. */
  readonly scheduled: ScheduledMessages;
  /** The bodies of messages that are kept for people to read. */
  readonly kept: KeptBodies;
  /** The failures that a durable message survives, and the size of the largest body that callers may give. */
  readonly caps: { receiptMeans: 'fsynced' | 'written' | 'replicated'; maxBodyBytes: number };
  /** A repeated id is recognised for at least this long after its message was settled, in milliseconds. */
  readonly dedupeWindowMs: number;
  /**
   * Applies a batch as one step. Resolves with an answer for each message, in order. When it resolves, the changes can be read and survive
   * the end of the process; they are durable after the next {@link sync}. Settling a message twice, or in an inbox that is not its own,
   * changes nothing and stores no notice. The caller keeps bodies within `caps.maxBodyBytes`.
   */
  commit(batch: Batch): Promise<Appended[]>;
  /**
   * Resolves when everything that was committed before the call is durable. Commits become durable in their order. Returns `undefined` if a
   * commit needs no sync. Rejects when the medium fails; from then on every commit rejects. The changes of other methods are durable when
   * these resolve, except those of housekeeping.
   */
  sync(): Promise<void> | undefined;
  /**
   * Reads pending messages of an inbox after `afterSeq`, in order: at most `limit` messages and `maxBytes` of bodies, but at least one
   * message.
   */
  read(inbox: string, afterSeq: number, limit: number, maxBytes: number): Promise<StoredMessage[]>;
  /**
   * Finds a message by the id that its sender gave it: the pending one, or else the one that was stored last. A settled message is found
   * while the dedupe window lasts, and perhaps longer.
   */
  find(inbox: string, sender: string, id: string): Promise<FoundMessage | undefined>;
  /** Finds the messages of up to `limit` senders with one id, as {@link find} does for each of them, in any order. */
  findOfAnySender(inbox: string, id: string, limit: number): Promise<FoundMessage[]>;
  /** Tells whether a request can be answered now. */
  requestState(request: RequestKey): Promise<RequestState>;
  /** Returns pending messages of all inboxes that were stored with this `tokenId`, by ascending sequence numbers. */
  sentWith(tokenId: string, limit: number): Promise<StoredMetadata[]>;
  /**
   * Returns pending messages of an inbox that have attempts, or whose sequence numbers are among `seqs`, in order. Only the first 10,000
   * messages of the inbox are considered: consumers never hold more.
   */
  tried(inbox: string, seqs: readonly number[], limit: number): Promise<StoredMetadata[]>;
  stats(inbox: string): Promise<InboxStats>;
  /**
   * Returns agents with messages in their own inboxes, in ascending order of code units, after `after`. It considers at most `limit` agents
   * for which anything is stored, so that a page may hold fewer and still have a cursor. It reads only the oldest message of each.
   */
  waiting(after: string, limit: number): Promise<WaitingPage>;
  /**
   * Counts the pending messages of the inboxes after a name, in ascending order of their names, without reading any message. A damaged
   * count may be wrong until it is repaired.
   */
  inboxBacklogs(after: string, limit: number): Promise<InboxBacklog[]>;
  /**
   * Counts everything that is stored in all inboxes together. To find the oldest message it reads one entry for each inbox, so it is meant
   * for people who ask now and then.
   */
  backlog(): Promise<Backlog>;
  /** Returns the bytes of everything that is stored, settled metadata and dead letters included, and the cap on them. */
  usage(): Promise<{ usedBytes: number; maxBytes: number }>;
  /**
   * Proves that the medium works: writes something, makes it durable and reads it again. Resolves with `full` if messages are refused
   * because the disk has no room. Rejects as {@link commit} and {@link sync} do.
   */
  prove(): Promise<'works' | 'full'>;
  /** Returns pending and settled messages by time of creation. It may take a while, during which the store continues its work. */
  history(query: HistoryQuery): Promise<HistoryPage>;
  /** Returns the names of inboxes with pending messages, after `after` in ascending order of code units, not of a locale. */
  inboxes(after: string, limit: number): Promise<string[]>;
  /**
   * Does one small step of housekeeping. It forgets old settled messages, and checks whether a medium that was full or refused a change
   * accepts changes again. It returns some pending messages that have expired, and some that are damaged; the caller settles them. Repeated
   * calls cover everything that has expired, and return a message again until it is settled. Settled messages are kept for `dedupeWindowMs`
   * of running time after the store was opened and after each leap of `time`.
   */
  sweep(time: ExpiryTime): Promise<StoredMetadata[]>;
  /** Counts the pending messages that would have expired at a time, by kind. It may take a while, as {@link history} does. */
  countExpired(time: ExpiryTime): Promise<Record<string, number>>;
  /** Stores the time that the caller has reached, and the marks of the schedules that ran until then, by name. A power cut may undo that. */
  keepTime(time: ExpiryTime, schedules: Readonly<Record<string, string>>): Promise<void>;
  /** Returns what was stored last by {@link keepTime}; `undefined` in a new store. */
  keptTime(): Promise<KeptTime | undefined>;
  /**
   * Binds an inbox to a generation of the execution journal behind it. Something other than the journal in its present state may have
   * handled foreign messages.
   */
  bindJournal(inbox: string, claim: JournalClaim): Promise<JournalBound>;
  /** Returns the id of this store, which was made with it and never changes. */
  identity(): Promise<string>;
}
