import type { ApprovalEnd, ApprovalRecord, ProposedCall, StandingRecord } from './approval-record.ts';
import type { CallKey } from './call-key.ts';

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
  /**
   * Writes a new approval, with its end if it is decided already. `instead` is the id of an earlier one that it replaces, which is used up
   * by the same commit.
   */
  propose(call: ProposedCall, end?: ApprovalEnd, instead?: string): Promise<void>;
  /**
   * Writes the end of an approval, and with it a standing approval that was given. Resolves with false, and writes nothing, if the approval
   * had ended already: the first end counts.
   */
  end(id: string, end: ApprovalEnd, standing?: StandingRecord): Promise<boolean>;
  /**
   * Notes that the call of a request has ended, so that its approval can't be used again. The start of the call notes that, too, in the
   * commit of the journal's own entry.
   */
  use(request: CallKey): Promise<void>;
  /** Notes that another request gets the reply to an approval's call. */
  attach(id: string, request: CallKey): Promise<void>;
  /** Reads the approval of a request: its own, or the one to which it is attached. The look-up is cheap, even if there is none. */
  of(request: CallKey): Promise<ApprovalRecord | undefined> | undefined;
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
  /** Calls `listener` when another process may have changed something. Returns a function that removes the listener. */
  onChanged(listener: () => void): () => void;
}
