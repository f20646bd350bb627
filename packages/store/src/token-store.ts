import type { AuditEvent } from './audit-log.ts';

/**
 * The rights of a token beyond acting as its agent: `operator` sees and administers everything, `observer` only looks, `approver` decides
 * on tool calls of certain roles, `mint` may only issue child tokens, and `read-bodies` lets an observer read what agents wrote.
 */
export type Permission = 'operator' | 'observer' | 'approver' | 'mint' | 'read-bodies';

/** A token in its stored form. Of its secret only the SHA-256 is kept, in hex. Times are epoch milliseconds. */
export interface TokenRecord {
  id: string;
  hash: string;
  /** An exact agent id; for a minting token a pattern that ends in `*`. */
  agent: string;
  role: string;
  permissions: Permission[];
  /** The roles that the tokens of a minting token may have; by default only its own role. */
  roles?: string[];
  /** The roles on whose tool calls an approver decides, or patterns with `*`. */
  approves?: string[];
  /** The agents whose tokens issued this one. For a token that may decide on tool calls, the chain of issuers is complete. */
  issuers?: string[];
  createdAt: number;
  /** Absent for a token that never expires. */
  expiresAt?: number;
  /**
   * The token with whose end this one ends: the minting token that issued it. For a token that a browser issued, it is the token with which
   * the person signed in.
   */
  parentId?: string;
  /** True for the sign-in of a browser. Its parent is the token of the person. */
  isSignIn?: true;
  /** True if the disk has damaged the row, so that none of its fields can be relied on. Such a token authenticates nobody. */
  damaged?: true;
}

/** A hold in its stored form. Times are epoch milliseconds. */
export interface HoldRecord {
  id: string;
  on: 'agent' | 'role' | 'tool' | 'all';
  /** The name of the agent or the role, or the pattern of tools; empty for `all`. */
  name: string;
  reason: string;
  /** The agent that placed it, and the id of its token. */
  by: string;
  tokenId: string;
  createdAt: number;
  /** Absent for a hold that stays until its release. */
  until?: number;
  /** True if running calls are cancelled, too. */
  cancelsRunning: boolean;
  /** True if the disk has damaged the row. Only its id is reliable, and the fact that it was placed. */
  damaged?: true;
}

/** The changes in a token store since a version of it. */
export interface TokenChanges {
  /** The version to which these changes lead. They may include some newer ones. */
  version: number;
  /** Tokens that were added. */
  added: TokenRecord[];
  /** The ids of all tokens, if tokens were removed. */
  ids?: ReadonlySet<string>;
  /** All holds, if a hold was placed or has ended. */
  holds?: HoldRecord[];
  /** Agents that connected for the first time. */
  agents?: string[];
}

/** The token with which another one is issued. */
export interface TokenIssuer {
  id: string;
  /** False for a token of an identity provider, which is stored only once it is revoked. */
  isStored: boolean;
}

/**
 * Keeps the tokens, the holds, and the agents that ever connected. Changes are durable when they resolve. An event that is given with a
 * change is recorded in the audit log if the change is made. In a database both are one commit. In files the event is written right before
 * the change: if the process dies in between, the change is missing, but never the event.
 */
export interface TokenStore extends AsyncDisposable {
  all(): Promise<TokenRecord[]>;
  /** Returns the changes since a version; the first version is 0. Only a store that several brokers share has this method. */
  changes?(since: number): Promise<TokenChanges>;
  /** Adds a token. Resolves with false, and adds nothing, if its issuer has been revoked by any broker. */
  add(record: TokenRecord, issuer?: TokenIssuer, event?: AuditEvent): Promise<boolean>;
  /**
   * Removes a token, those whose parent it is, and theirs, all or none. Resolves with the ids of those that were stored. `revoked` takes
   * the place of the token: it is the record of a token that is stored only once it is revoked. `eventOf` makes the event from these ids.
   */
  remove(
    id: string,
    revoked?: TokenRecord,
    eventOf?: (removed: readonly string[]) => AuditEvent,
  ): Promise<string[]>;
  /** Returns the present holds, the oldest first. */
  holds(): Promise<HoldRecord[]>;
  addHold(record: HoldRecord, event?: AuditEvent): Promise<void>;
  /** Removes a hold. Resolves with false if there was none. */
  removeHold(id: string, event?: AuditEvent): Promise<boolean>;
  /** Returns the agents that connected at least once, even if their tokens no longer exist. */
  agents(): Promise<string[]>;
  /** Remembers agents. The newest 100,000 are kept. */
  addAgents(agents: readonly string[]): Promise<void>;
}
