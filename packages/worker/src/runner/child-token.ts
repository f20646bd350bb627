import type { ProcessEnd } from './run-event.ts';

/** The token of one process. */
export interface ChildToken {
  text: string;
  /** The end of the token's validity in epoch milliseconds; absent if it is unknown, or the token never expires. */
  expiresAt?: number;
  /** Resolves with the token that replaces this one when it expires; absent if nobody renews it. */
  renew?: () => Promise<string | undefined>;
  /**
   * Called when the process has ended, or was never started (`undefined`): revokes a token that was made for this process, and tells the
   * parent. Never rejects.
   */
  retire(end: ProcessEnd | undefined): Promise<ExitFacts>;
}

/** The broker's facts about the end of a process: whether its token was revoked, whether the parent has a message, and the ids of the messages that the process had. */
export interface ExitFacts {
  /** True if the token is no longer valid. */
  revoked: boolean;
  told: boolean;
  heldIds: string[];
}

/** Makes a token for one process of an agent. Rejects with `SignalboxError`. */
export type IssueToken = (agent: string) => Promise<ChildToken>;
