import type { NewMessage, StoredMetadata } from './message.ts';

/**
 * A message that is stored and not due. `createdAt` is the time from which it is due; `sentAt` is the time when it was stored. Both are in
 * epoch milliseconds.
 */
export interface ScheduledMessage extends Omit<StoredMetadata, 'seq' | 'attempts' | 'damaged'> {
  /** The number that identifies it among the scheduled messages. It is not a sequence number of its inbox. */
  number: number;
  sentAt: number;
}

/** Selects the scheduled messages of a list. */
export interface ScheduledQuery {
  /** Only messages of this agent. */
  sender?: string | undefined;
  /** Only messages to this inbox. */
  inbox?: string | undefined;
  limit: number;
  /** The cursor of the page before. */
  cursor?: string | undefined;
}

/** Scheduled messages, the first due one first, and a cursor if there may be more. A page with a cursor may hold fewer than its limit. */
export interface ScheduledPage {
  messages: ScheduledMessage[];
  cursor?: string;
}

/**
 * The messages that wait for their time. They count against all caps, but they are in no inbox: no count of pending messages includes them,
 * and they hold up no other message. A commit of a message with `scheduledAt` stores one here, and a commit of one with `release` moves it
 * into its inbox.
 */
export interface ScheduledMessages {
  /** Returns the time at which the first message is due, in epoch milliseconds; `undefined` if there is none. */
  nextDueAt(): Promise<number | undefined>;
  /**
   * Returns messages that are due at a time, the first due one first: at most `limit` messages and `maxBytes` of bodies, but at least one
   * message. Each is ready for a commit: its `release` is set.
   */
  due(at: number, limit: number, maxBytes: number): Promise<NewMessage[]>;
  /** Counts all scheduled messages. */
  count(): Promise<number>;
  list(query: ScheduledQuery): Promise<ScheduledPage>;
  /**
   * Ends a sender's messages with one id; the history shows them as cancelled. For the address of a group these are also the copies for its
   * members. Returns the messages as the history has them. Resolves when this is durable.
   */
  cancel(inbox: string, sender: string, id: string): Promise<StoredMetadata[]>;
}
