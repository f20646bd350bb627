import type { CallRecordOutcome, JournalClaim } from '@signalbox/protocol';

/** Identifies a call: an agent chooses the ids of its own requests, so only both together are unique. */
export interface CallKey {
  agent: string;
  requestId: string;
}

/** A call that is about to be sent to its server. Times are epoch milliseconds, for people to read. */
export interface StartedCall extends CallKey {
  role: string;
  tool: string;
  server?: string;
  receivedAt: number;
  startedAt: number;
  /** The broker and the inbox through which the request came. */
  inbox: string;
  /** The rest of the request's lifetime, in milliseconds. Its sender repeats it no longer than that. */
  lifetimeMs: number;
}

/** How a call ended. `finishedAt` is in epoch milliseconds; `reply` is the JSON text of the whole reply. */
export interface CallEnd {
  outcome: CallRecordOutcome;
  finishedAt: number;
  reply: string;
}

/**
 * The entry of one call in the journal. Without `end`, the call was started and its outcome is unknown. An `end`
 * without a `reply` means that the reply was delivered.
 */
export interface JournalEntry extends Omit<StartedCall, 'inbox' | 'lifetimeMs'> {
  end?: Omit<CallEnd, 'reply'> & { reply?: string };
}

/**
 * Remembers which calls were started and how they ended, so that no call is made twice. Its methods reject or throw a
 * `SignalboxError` whose code starts with `journal_`.
 */
export interface Journal extends AsyncDisposable {
  /** Identifies this journal among all journals, and never changes. */
  readonly id: string;
  /** Resolves with the reason if nothing can be written any more. Close the journal then, and open it when the medium is good. */
  readonly failed: Promise<Error>;
  /** Returns the entry of a call, if there is one. */
  find(key: CallKey): JournalEntry | undefined;
  /** Resolves when the entry is fsynced. It replaces an entry with the same key. Concurrent starts share one fsync. */
  start(call: StartedCall): Promise<void>;
  /**
   * Resolves when the end would survive the death of this process; a power cut may undo it. Does nothing for a call
   * that has ended already or was never started.
   */
  finish(key: CallKey, end: CallEnd): Promise<void>;
  /**
   * Notes that the request is settled: it was acked together with its stored reply (`stored`), or because the broker refused the reply
   * (`refused`), or the broker was asked and said so (`found`). The entry may be deleted from now on, and a reply that was `stored` is
   * deleted at once. No entry is ever deleted without such a note.
   */
  settle(key: CallKey, how: 'stored' | 'refused' | 'found'): void;
  /**
   * Lists calls whose requests came through this inbox and may be settled, although nothing says so: their lifetime is over, and they
   * don't run in this process. They come in the order of their starts, from behind `after` on.
   */
  inDoubt(inbox: string, after: number, limit: number): Promise<{ key: CallKey; number: number }[]>;
  /** Lists calls received at or after `since` (epoch milliseconds), newest first. */
  list(options: { since?: number; limit: number }): Promise<JournalEntry[]>;

  /**
   * Makes a new generation of this journal for a subscription to an inbox. It is on disk when this returns, beside those to which the
   * broker may have bound the inbox before. If it can't be written, `onFailed` is called and the claim is good all the same: the
   * journal is then foreign after its next start.
   */
  claim(inbox: string, onFailed: (error: unknown) => void): JournalClaim;
  /**
   * Notes that the broker bound the inbox to this generation, before any message is handled: the earlier ones are given up. The note
   * is on disk when this returns. From then on an older copy of this journal, or of the broker's store, is recognised.
   */
  bound(inbox: string, generation: string): void;
  /** Returns the generation of this journal to which the broker bound an inbox last, as far as the journal knows. */
  generation(inbox: string): string | undefined;
  /** Copies the journal, as it is at one moment, to a file that does not exist. The copy is on disk when this resolves. */
  copyTo(file: string): Promise<void>;
}
