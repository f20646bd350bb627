import type { ProcessEnd } from './run-event.ts';

/** The token of one process. */
export interface ChildToken {
  text: string;
  /** When it ends, in epoch milliseconds; absent if that is not known, or never. */
  expiresAt?: number;
  /** Returns the token that takes its place when it ends, where somebody renews it. */
  renew?: () => Promise<string | undefined>;
  /**
   * The process has ended, or never began (`undefined`): makes the token worthless where it was made for this process,
   * and tells the parent. Never rejects.
   */
  retire(end: ProcessEnd | undefined): Promise<ExitFacts>;
}

/** Facts that the broker tells at the end of a process: whether the parent has a message, and the ids of the messages that it had. */
export interface ExitFacts {
  told: boolean;
  heldIds: string[];
}

/** Makes a token for one process of an agent. Rejects with `SignalboxError`. */
export type IssueToken = (agent: string) => Promise<ChildToken>;
