import type { DefinitionPins } from '@signalbox/mcp-host';
import type { CallRecordOutcome, JournalClaim } from '@signalbox/protocol';
import type { ApprovalStore } from '../approvals/approval-store.ts';
import type { CallKey } from './call-key.ts';

/** A call that an orchestrator has taken on. Times are epoch milliseconds, for people to read. */
export interface ReceivedCall extends CallKey {
  role: string;
  tool: string;
  /** The thread of its request. Absent: the id of its request. */
  thread?: string;
  server?: string;
  receivedAt: number;
  /** Absent if the call ended before it was sent to its server. */
  startedAt?: number;
  /** The broker and the inbox through which the request came. */
  inbox: string;
  /** The rest of the request's lifetime, in milliseconds. Its sender repeats it no longer than that. */
  lifetimeMs: number;
}

/** A call that is about to be sent to its server. */
export interface StartedCall extends ReceivedCall {
  startedAt: number;
}

/** How a call ended. `finishedAt` is in epoch milliseconds; `reply` is the JSON text of the whole reply. */
export interface CallEnd {
  outcome: CallRecordOutcome;
  finishedAt: number;
  reply: string;
  /** True if the reply is kept although it was delivered, because its requester may have stopped waiting. */
  isLate?: boolean;
}

/** The journal's knowledge of a call. Without `end`, the call was started and its outcome is unknown, unless `wasStarted` says otherwise. */
export interface JournalRecord extends Omit<ReceivedCall, 'inbox' | 'lifetimeMs'> {
  /** False if the entry only says that the reply will be kept. Such a call has not run, or is safe to repeat. */
  wasStarted: boolean;
  /** True if the request is settled. */
  isSettled: boolean;
  end?: Pick<CallEnd, 'outcome' | 'finishedAt'> & { isReplyKept: boolean };
}

/** The entry of one call in the journal. An `end` without a `reply` means that the reply is no longer kept. */
export interface JournalEntry extends Omit<JournalRecord, 'end'> {
  /** Whether the reply is, or will be, kept although it was delivered. */
  isKept: boolean;
  end?: Pick<CallEnd, 'outcome' | 'finishedAt'> & { reply?: string };
}

/**
 * The outcome of the reply to a request that is settled. It was stored for a requester that was there (`stored`), or in an inbox that
 * nobody held (`waits`). The broker refused it (`refused`). Or nobody knows, because only the broker could be asked (`found`).
 */
export type SettledHow = 'stored' | 'waits' | 'refused' | 'found';

/** Selects calls: those received at or after `since` (epoch milliseconds), and of these the newest. */
export interface JournalQuery {
  since?: number;
  limit: number;
}

/** Selects calls of one agent. Those that `isListed` leaves out do not count in the limit. */
export interface OwnCallsQuery extends JournalQuery {
  isListed?: (call: Pick<JournalRecord, 'role' | 'tool'>) => boolean;
}

/**
 * Remembers which calls were started and how they ended, so that no call is made twice. Its methods reject or throw a
 * `SignalboxError` whose code starts with `journal_`.
 */
export interface Journal extends AsyncDisposable {
  /** The approvals of calls that wait, or waited, for a decision. */
  readonly approvals: ApprovalStore;
  /** The definitions of tools and prompts that are pinned. */
  readonly pins: DefinitionPins;
  /** Identifies this journal among all journals, and never changes. */
  readonly id: string;
  /** True if orchestrators share it: what others have started, kept, decided and pinned is in it, too. */
  readonly isShared: boolean;
  /** Resolves with the reason if nothing can be written any more. Close the journal then, and open it when the medium is good. */
  readonly failed: Promise<Error>;
  /** Reads the entry of a call, if there is one. */
  find(key: CallKey): Promise<JournalEntry | undefined>;
  /**
   * Tries to become the process that serves an inbox. Resolves with false while another one that shares the journal serves it and lives.
   * One process alone always serves.
   */
  lead(inbox: string): Promise<boolean>;
  /** How long the reply to a settled request is kept at most, in milliseconds. */
  readonly keptMs: number;
  /**
   * Notes that the reply to a call will be kept although it is delivered. Resolves when that is fsynced. A call without a start gets an entry
   * without one. Does nothing for a call that has ended.
   */
  keep(call: ReceivedCall): Promise<void>;
  /**
   * Resolves when the entry is fsynced. It replaces an entry with the same key: the `earlier` one that was read, or one of this process.
   * Rejects with `journal_started_elsewhere` if another process has started the call meanwhile. Concurrent starts share one fsync.
   */
  start(call: StartedCall, earlier?: JournalEntry): Promise<void>;
  /**
   * Resolves when the end would survive the death of this process; a power cut may undo it. Does nothing for a call
   * that has ended already or was never started. The end of a call that another process has started is only written if that is the
   * `earlier` entry, which was read.
   */
  finish(key: CallKey, end: CallEnd, earlier?: JournalEntry): Promise<void>;
  /**
   * Writes a call that has ended and was never started here, because it is safe to repeat. Resolves as {@link finish} does. Does
   * nothing for a call that has an entry.
   */
  record(call: ReceivedCall, end: CallEnd): Promise<void>;
  /**
   * Notes that the request is settled. The entry may be deleted from now on; none is ever deleted without such a note. A reply that was
   * `stored` is deleted at once, unless it is late. Every other reply is kept for its requester, within limits of its own for each agent.
   */
  settle(key: CallKey, how: SettledHow): void;
  /**
   * Lists calls whose requests came through this inbox and may be settled, although nothing says so: their lifetime is over, and they
   * don't run in this process. They come in the order of their starts, from behind `after` on.
   */
  inDoubt(inbox: string, after: number, limit: number): Promise<{ key: CallKey; number: number }[]>;
  /** Lists the calls of all agents, newest first. */
  list(query: JournalQuery): Promise<JournalRecord[]>;
  /** Lists calls of one agent, newest first: its last 50, and those whose replies are kept. */
  listOf(agent: string, query: OwnCallsQuery): Promise<JournalRecord[]>;

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
