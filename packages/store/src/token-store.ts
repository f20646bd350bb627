/**
 * What a token allows beyond acting as its agent: `operator` sees and administers everything, `observer` only looks, `approver` decides
 * on tool calls of certain roles, `mint` may only issue child tokens.
 */
export type Permission = 'operator' | 'observer' | 'approver' | 'mint';

/** A token as it is stored. Of its secret only the SHA-256 is kept, in hex. Times are epoch milliseconds. */
export interface TokenRecord {
  id: string;
  hash: string;
  /** An exact agent id; for a minting token a pattern that ends in `*`. */
  agent: string;
  role: string;
  permissions: Permission[];
  /** The roles that the tokens of a minting token may have; by default its own alone. */
  roles?: string[];
  /** The roles on whose tool calls an approver decides, or patterns with `*`. */
  approves?: string[];
  /** The agents whose tokens issued this one: of a token that may decide on tool calls, all the way back. */
  issuers?: string[];
  createdAt: number;
  /** Absent for a token that never expires. */
  expiresAt?: number;
  /** The token that it ends with: the minting token that issued it, or the one with which the browser signed in that issued it. */
  parentId?: string;
  /** True for the session of a browser, whose parent is the token of the person. */
  isSession?: true;
  /** True if the row was damaged on the disk, so that nothing in it can be relied on. Such a token authenticates nobody. */
  damaged?: true;
}

/** A hold as it is stored. Times are epoch milliseconds. */
export interface HoldRecord {
  id: string;
  on: 'agent' | 'role' | 'tool' | 'all';
  /** The agent, the role or the pattern of tools; empty for `all`. */
  name: string;
  reason: string;
  /** The agent that placed it, and its token. */
  by: string;
  tokenId: string;
  createdAt: number;
  /** Absent for a hold that stands until its release. */
  until?: number;
  /** True if calls that run are cancelled, too. */
  cancelsRunning: boolean;
  /** True if the row was damaged on the disk. Only its id can be relied on, and that it was placed. */
  damaged?: true;
}

/** The changes in a token store since a version of it. */
export interface TokenChanges {
  /** The version to which these changes lead. Some that are newer may be among them. */
  version: number;
  /** Tokens that were added. */
  added: TokenRecord[];
  /** The ids of all tokens, if some were removed. */
  ids?: ReadonlySet<string>;
  /** All holds, if some were placed or have ended. */
  holds?: HoldRecord[];
  /** Agents that connected for the first time. */
  agents?: string[];
}

/** Keeps the tokens, the holds, and the agents that ever connected. Changes are durable when they resolve. */
export interface TokenStore extends AsyncDisposable {
  all(): Promise<TokenRecord[]>;
  /** Returns what has changed since a version, of which 0 is the first. Only a store that several brokers share has this method. */
  changes?(since: number): Promise<TokenChanges>;
  add(record: TokenRecord): Promise<void>;
  /** Removes a token; false if there was none. */
  remove(id: string): Promise<boolean>;
  /** Holds that stand, the oldest first. */
  holds(): Promise<HoldRecord[]>;
  addHold(record: HoldRecord): Promise<void>;
  /** Removes a hold; false if there was none. */
  removeHold(id: string): Promise<boolean>;
  /** Agents that connected at least once, even if their tokens are gone. */
  agents(): Promise<string[]>;
  /** Remembers agents, up to the 100,000 newest. */
  addAgents(agents: readonly string[]): Promise<void>;
}
