import type { CallRecordOutcome } from '@signalbox/protocol';

/** Who asked, and under which id: an agent's request ids are its own. */
export interface CallKey {
  agent: string;
  requestId: string;
}

/** A call that is about to be made. Times are epoch milliseconds. */
export interface StartedCall extends CallKey {
  role: string;
  tool: string;
  server?: string;
  receivedAt: number;
  startedAt: number;
  /** When the request's lifetime ends, after which no broker delivers it again. */
  expiresAt: number;
}

/** How a call ended. `reply` is the JSON text of the whole reply. */
export interface CallEnd {
  outcome: CallRecordOutcome;
  finishedAt: number;
  reply: string;
}

/** Without `end`, all that is known is that it was started. An `end` without its reply was delivered. */
export interface JournalEntry extends StartedCall {
  end?: Omit<CallEnd, 'reply'> & { reply?: string };
}

/**
 * What was started, and how it ended: the memory by which no call is made twice. All of it rejects or throws with a
 * `SignalboxError` whose code starts with `journal_`.
 */
export interface Journal extends AsyncDisposable {
  /** The same as long as the journal exists, different from every other journal's. */
  readonly id: string;
  find(key: CallKey): JournalEntry | undefined;
  /** Resolves when the entry is on disk, fsynced, in place of any other under its key. Concurrent starts share one fsync. */
  start(call: StartedCall): Promise<void>;
  /** Resolves when it would survive the end of this process; a power cut may undo it. Does nothing for a call that has ended or was never started. */
  finish(key: CallKey, end: CallEnd): Promise<void>;
  /**
   * The request was acked, together with its reply (`stored`) or without one that its requester could take (`refused`).
   * From now on the entry may be forgotten; a stored reply is dropped. Written when convenient.
   */
  settle(key: CallKey, how: 'stored' | 'refused'): void;
  /** Newest first, by the time they were received. */
  list(options: { since?: number; limit: number }): Promise<JournalEntry[]>;

  /** To be called before an inbox is subscribed. On disk when it returns. */
  subscribing(inbox: string): void;
  /**
   * To be called with the answer, before any message is handled. On disk when it returns. If another journal may have
   * held the inbox since we last knew, its messages up to `headSeq` are foreign from now on: so too if an earlier
   * answer never came, because it could have said so.
   */
  subscribed(inbox: string, answer: { sameJournal: boolean; headSeq: number }): void;
  /** Whether a request may have been started on another journal's watch. */
  isForeign(inbox: string, seq: number): boolean;
}
