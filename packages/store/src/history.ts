import type { Outcome } from './message.ts';

/** Which messages to tell of. Times are epoch milliseconds of their creation. */
export interface HistoryQuery {
  since: number;
  /** Excluded. */
  until?: number;
  /** Sent by this agent, or to one of its inboxes. */
  agent?: string;
  /** With this correlation id, or with this id. */
  correlationId?: string;
  limit: number;
  /** From the page before. */
  cursor?: string;
}

/** What is known of a message whatever became of it. */
export interface HistoryEntry {
  seq: number;
  inbox: string;
  id: string;
  sender: string;
  kind: string;
  correlationId?: string;
  createdAt: number;
  size: number;
  /** How it ended; absent while it waits. */
  settled?: { at: number; outcome: Outcome; reason?: string };
}

/** In the order of creation; `cursor` if there are more. */
export interface HistoryPage {
  entries: HistoryEntry[];
  cursor?: string;
}
