import type { CallRecordOutcome, JournalClaim } from '@signalbox/protocol';
import type { ApprovalStore } from './approval-store.ts';
import type { CallKey } from './call-key.ts';
import type { DefinitionPins } from './definition-pins.ts';

/** A call that an orchestrator has taken on. Times are epoch milliseconds, for people to read. */
export interface ReceivedCall extends CallKey {
  role: string;
  tool: string;
  /** The thread of its request. Absent if it equals the request's id. */
  thread?: string;
  server?: string;
  receivedAt: number;
  /** Absent if the call ended before it was sent to its server. */
  startedAt?: number;
  /** The broker and the inbox through which the request came. */
  inbox: string;
  /** The rest of the request's lifetime, in milliseconds. Its sender does not repeat it after that. */
  lifetimeMs: number;
}

/** A call that is about to be sent to its server. */
export interface StartedCall extends ReceivedCall {
  startedAt: number;
}

/** The end of a call. `finishedAt` is in epoch milliseconds; `reply` is the JSON text of the whole reply. */
export interface CallEnd {
  outcome: CallRecordOutcome;
  finishedAt: number;
  reply: string;
  /** True if the reply is kept although it was delivered, because its requester may have stopped waiting. */
  isLate?: boolean;
}

/**
 * The facts about a call that the journal has. Without `end`, the call was started and its outcome is unknown, unless `wasStarted` is
 * false.
 */
export interface JournalRecord extends Omit<ReceivedCall, 'inbox' | 'lifetimeMs'> {
  /** False if the entry only says that the reply will be kept. This call has not run, or is safe to repeat. */
  wasStarted: boolean;
  /** True if the request is settled. */
  isSettled: boolean;
  end?: Pick<CallEnd, 'outcome' | 'finishedAt'> & { isReplyKept: boolean };
}

/** The entry of one call in the journal. An `end` without a `reply` means that the reply is no longer kept. */
export interface JournalEntry extends Omit<JournalRecord, 'end'> {
  /** True if the reply is, or will be, kept although it was delivered. */
  isKept: boolean;
  end?: Pick<CallEnd, 'outcome' | 'finishedAt'> & { reply?: string };
}

/**
 * The outcome of the reply to a settled request. It was stored for a connected requester (`stored`), or in an inbox that nobody held
 * (`waits`), or the broker refused it (`refused`). With `found` the outcome is unknown, because only the broker could be asked.
 */
export type SettledHow = 'stored' | 'waits' | 'refused' | 'found';

/** Selects the newest of the calls that were received at or after `since` (epoch milliseconds). */
export interface JournalQuery {
  since?: number;
  limit: number;
}

/** Selects calls of one agent. Calls that `isListed` leaves out do not count towards the limit. */
export interface OwnCallsQuery extends JournalQuery {
  isListed?: (call: Pick<JournalRecord, 'role' | 'tool'>) => boolean;
}

/**
 * Remembers which calls were started and how they ended, so that no call is made twice. Its methods reject or throw a `SignalboxError`
 * whose code starts with `journal_`.
 */
export interface Journal extends AsyncDisposable {
  /** The approvals of calls that wait, or waited, for a decision. */
  readonly approvals: ApprovalStore;
  /** The definitions of tools and prompts that are pinned. */
  readonly pins: DefinitionPins;
  /**
   * Identifies this journal among all journals, and never changes. It is random and only operators see it, so that it can be the key of the
   * hashes of arguments.
   */
  readonly id: string;
  /** True if several orchestrators share it. Then it also has the starts, kept replies, decisions and pins of the others. */
  readonly isShared: boolean;
  /** Resolves with the reason if nothing can be written any more. Then close the journal, and open it again when the medium works. */
  readonly failed: Promise<Error>;
  /** Reads the entry of a call, if there is one. A journal in this process answers at once. */
  find(key: CallKey): JournalEntry | undefined | Promise<JournalEntry | undefined>;
  /**
   * Tries to become the process that serves an inbox. Resolves with false while another living process that shares the journal serves it. A
   * process with a journal of its own always succeeds.
   */
  lead(inbox: string): Promise<boolean>;
  /** The longest time for which the reply to a settled request is kept, in milliseconds. */
  readonly keptMs: number;
  /**
   * Notes that the reply to a call will be kept although it is delivered. Resolves when that is fsynced. A call that was not started gets
   * an entry without a start. Does nothing for a call that has ended.
   */
  keep(call: ReceivedCall): Promise<void>;
  /**
   * Writes the start of a call. Resolves when the entry is fsynced. It replaces the `earlier` entry with the same key that was read; without
   * one, only an entry without a start. Rejects with `journal_already_started` if the call has another start, or if this process has started
   * it and did not finish it. Concurrent starts share one fsync.
   */
  start(call: StartedCall, earlier?: JournalEntry): Promise<void>;
  /**
   * Writes the end of a call. Resolves when the end would survive the death of this process; a power cut may undo it. Does nothing for a
   * call that has ended already or was never started. The end of a call that another process has started is only written if `earlier` is
   * the entry of that start.
   */
  finish(key: CallKey, end: CallEnd, earlier?: JournalEntry): Promise<void>;
  /**
   * Writes a call that has ended and was never started here, because it is safe to repeat. Resolves as {@link finish} does. Does nothing
   * for a call that has an entry.
   */
  record(call: ReceivedCall, end: CallEnd): Promise<void>;
  /**
   * Notes that the request is settled. The entry may be deleted from now on; no entry is ever deleted without this note. A reply that was
   * `stored` is deleted at once, unless it is late. Every other reply is kept for its requester, within separate limits for each agent.
   */
  settle(key: CallKey, how: SettledHow): void;
  /**
   * Lists calls whose requests came through this inbox and may be settled without a note: their lifetime is over, and they don't run in
   * this process. They come in the order of their starts, after `after`.
   */
  inDoubt(inbox: string, after: number, limit: number): Promise<{ key: CallKey; number: number }[]>;
  /** Lists the calls of all agents, newest first. */
  list(query: JournalQuery): Promise<JournalRecord[]>;
  /** Lists calls of one agent, newest first: its last 50, and those whose replies are kept. */
  listOf(agent: string, query: OwnCallsQuery): Promise<JournalRecord[]>;

  /**
   * Makes a new generation of this journal for a subscription to an inbox. When this returns it is on disk, beside those to which the
   * broker may have bound the inbox before. If it can't be written, `onFailed` is called, and the claim is still valid: then the journal is
   * foreign after its next start.
   */
  claim(inbox: string, onFailed: (error: unknown) => void): JournalClaim;
  /**
   * Notes, before any message is handled, that the broker bound the inbox to this generation. The earlier ones are given up. The note is on
   * disk when this returns. From then on an older copy of this journal, or of the broker's store, is recognised.
   */
  bound(inbox: string, generation: string): void;
  /** Returns the generation of this journal to which the broker last bound an inbox, as far as the journal knows. */
  generation(inbox: string): string | undefined;
  /** Copies the journal, as it is at one moment, to a file that does not exist. The copy is on disk when this resolves. */
  copyTo(file: string): Promise<void>;
}
