import type { Outcome } from './message.ts';

/** Which messages a history shows. Times are epoch milliseconds of their creation. */
export interface HistoryQuery {
  /** Included. */
  since: number;
  /** Excluded. */
  until?: number;
  /** Only messages that this agent sent, or that were sent to one of its inboxes. */
  agent?: string;
  /** Only messages with this correlation id, and messages with this id. */
  correlationId?: string;
  /** True: the newest come first, and each page is older than the one before. */
  newestFirst?: boolean;
  limit: number;
  /** The cursor of the page before, which is given with the same conditions as that page. */
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
  /** How it was settled; absent while it is pending. */
  settled?: { at: number; outcome: Outcome; reason?: string };
}

/**
 * Messages in the order of their creation, or against it, those of one millisecond by sequence number, and a `cursor` if there are more.
 * A message that is stored or settled while pages are read may be told as it was before or after, or be left out if it is new.
 */
export interface HistoryPage {
  entries: HistoryEntry[];
  cursor?: string;
}
