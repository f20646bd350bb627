import type { ApprovalState } from '@signalbox/protocol';
import type { CallKey } from './call-key.ts';

/** Stands in place of the hash of a definition for tools of agents' CLIs, whose definitions are unknown here. No hash is this word. */
export const unknownDefinition = 'unknown';

/** The only call to which an approval applies. Hashes are texts that differ if the hashed values do. */
export interface BoundCall extends CallKey {
  role: string;
  tool: string;
  definitionHash: string;
  argumentsHash: string;
  /** The hash of the data that the server gets beside the arguments; absent if there is none. */
  metaHash?: string;
}

/** A call that was proposed to those who decide. Times are epoch milliseconds. */
export interface ProposedCall extends BoundCall {
  id: string;
  server?: string;
  /** The JSON text of the arguments, as those who decide see it. */
  arguments: string;
  /** The JSON text of the data that the server gets beside the arguments, as those who decide see it. */
  meta?: string;
  /** The number of values in both that are hidden. */
  hidden: number;
  /** The rule that makes it wait, as `tools explain` names it. */
  rule: string;
  /** The key by which its caller recognises a repetition of the call. */
  idempotencyKey?: string;
  createdAt: number;
  /** A decision after this time changes nothing. */
  deadlineAt: number;
}

/** The agent that decided, with its token. It may have decided earlier, by giving a standing approval. */
export interface Decider {
  tokenId: string;
  agent: string;
  standing?: string;
}

/** The state in which an approval ended, with the time, the decider and the reason. */
export interface ApprovalEnd {
  state: Exclude<ApprovalState, 'pending'>;
  endedAt: number;
  /** Absent if nobody decided. */
  by?: Decider;
  reason?: string;
}

/** An approval as it is stored. Without `end` it is pending. `isUsed` is set if its call was made, or has ended. */
export interface ApprovalRecord extends ProposedCall {
  end?: ApprovalEnd;
  isUsed?: true;
}

/**
 * A permission for calls of one agent and tool to run without a decision until `until`, as long as role and definition stay the same. Times
 * are epoch milliseconds.
 */
export interface StandingRecord {
  id: string;
  agent: string;
  role: string;
  tool: string;
  definitionHash: string;
  createdAt: number;
  until: number;
  by: Decider;
  reason?: string;
}
