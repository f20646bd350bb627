import type { CallKey } from '../journal/call-key.ts';
import type { ApprovalEnd, ApprovalRecord, ProposedCall, StandingRecord } from './approval-record.ts';

/** Selects a page of approvals: those before a number, newest first. */
export interface ApprovalQuery {
  before?: number | undefined;
  limit: number;
}

/** An approval with its number, which grows with each new one. */
export interface NumberedApproval {
  number: number;
  record: ApprovalRecord;
}

/**
 * Keeps approvals. A change is on the disk when its promise resolves. Methods reject or throw a `SignalboxError` whose code starts
 * with `journal_`.
 */
export interface ApprovalStore {
  /** Writes a new approval, with its end if it is decided already. */
  propose(call: ProposedCall, end?: ApprovalEnd): Promise<void>;
  /**
   * Writes how an approval ended, and with it a standing approval that was given. Resolves with false, and writes nothing, if it had ended
   * already: the first end counts.
   */
  end(id: string, end: ApprovalEnd, standing?: StandingRecord): Promise<boolean>;
  /**
   * Notes that the call of a request has ended, so that its approval holds for nothing more. The start of the call notes that, too, in the
   * commit of the journal's own entry.
   */
  use(request: CallKey): Promise<void>;
  /** Notes that a further request gets the reply of the call that an approval is about. */
  attach(id: string, request: CallKey): Promise<void>;
  /** Reads the approval of a request, its own or the one that it is attached to. Asking is cheap, also for a request without any. */
  of(request: CallKey): Promise<ApprovalRecord | undefined>;
  /** Reads the approval with this id. */
  find(id: string): Promise<ApprovalRecord | undefined>;
  /** Reads the newest approval of an agent's call with this key. */
  findByKey(agent: string, idempotencyKey: string): Promise<ApprovalRecord | undefined>;
  /** Lists the approvals that have not ended, oldest first. */
  pending(): Promise<ApprovalRecord[]>;
  /** Lists approvals, newest first, each with its number. */
  list(query: ApprovalQuery): Promise<NumberedApproval[]>;
  /** Lists the standing approvals, also those whose time is over. */
  standing(): Promise<StandingRecord[]>;
  /** Removes a standing approval. */
  removeStanding(id: string): Promise<void>;
  /** Calls `listener` when another process may have changed anything. Returns the function that unsubscribes it. */
  onChanged(listener: () => void): () => void;
}
