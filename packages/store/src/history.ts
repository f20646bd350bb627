import type { Outcome } from './message.ts';

/** Selects the messages of a history. Times are epoch milliseconds of their creation. */
export interface HistoryQuery {
  /** The time is included. */
  since: number;
  /** The time is excluded. */
  until?: number;
  /** Only messages that this agent sent, or that were sent to one of its inboxes. */
  agent?: string;
  /** Only messages with this correlation id, and messages with this id. */
  correlationId?: string;
  /** True: the newest messages come first, and each page is older than the one before. */
  newestFirst?: boolean;
  limit: number;
  /** The cursor of the page before. The other conditions must be those of that page. */
  cursor?: string;
}

/** The metadata of a pending or settled message. */
export interface HistoryEntry {
  seq: number;
  inbox: string;
  id: string;
  sender: string;
  kind: string;
  correlationId?: string;
  /** See `NewMessage.thread`. */
  thread?: string;
  createdAt: number;
  size: number;
  /** The end of the message; absent while it is pending. */
  settled?: { at: number; outcome: Outcome; reason?: string };
}

/**
 * Messages in the order of their creation, or in reverse; those of one millisecond by sequence number. There is a `cursor` if there are
 * more. A message that is stored or settled while pages are read may appear as it was before or after that; a new one may be left out.
 */
export interface HistoryPage {
  entries: HistoryEntry[];
  cursor?: string;
}
