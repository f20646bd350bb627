import type { NewMessage, StoredMetadata } from './message.ts';

/** A message that is stored and not due. `createdAt` is the time from which it is due; `sentAt` is when it was stored. Both are epoch milliseconds. */
export interface ScheduledMessage extends Omit<StoredMetadata, 'seq' | 'attempts' | 'damaged'> {
  /** Names it among the scheduled messages. It is no sequence number of its inbox. */
  number: number;
  sentAt: number;
}

/** Which scheduled messages a list shows. */
export interface ScheduledQuery {
  /** Only messages of this agent. */
  sender?: string | undefined;
  /** Only messages to this inbox. */
  inbox?: string | undefined;
  limit: number;
  /** The cursor of the page before. */
  cursor?: string | undefined;
}

/** Scheduled messages, the first due one first, and a cursor if there may be more. A page may hold fewer than its limit, and have one. */
export interface ScheduledPage {
  messages: ScheduledMessage[];
  cursor?: string;
}

/**
 * The messages that wait for their time. They count against all caps and are in no inbox: no count of pending messages has them, and
 * they hold up no other message. Committing a message with `scheduledAt` puts one here, and committing one with `release` moves it into
 * its inbox.
 */
export interface ScheduledMessages {
  /** The time at which the first one is due, in epoch milliseconds; `undefined` if there is none. */
  nextDueAt(): Promise<number | undefined>;
  /**
   * Some messages that are due at a time, the first due one first, up to `limit` and `maxBytes` of bodies, but at least one. Each is ready
   * to be committed: its `release` is set.
   */
  due(at: number, limit: number, maxBytes: number): Promise<NewMessage[]>;
  /** The number of all scheduled messages. */
  count(): Promise<number>;
  list(query: ScheduledQuery): Promise<ScheduledPage>;
  /**
   * Ends messages of a sender with one id, which is told by the history as cancelled: the one to an inbox, or with the address of a group
   * also the copies for its members. Returns them as the history has them. Resolves when this is durable.
   */
  cancel(inbox: string, sender: string, id: string): Promise<StoredMetadata[]>;
}
