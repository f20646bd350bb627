/** What a token allows beyond being its agent: `operator` sees and administers everything, `mint` may only issue child tokens. */
export type Permission = 'operator' | 'mint';

/** A token as it is kept: never its secret, only the SHA-256 of it in hex. Times are epoch milliseconds. */
export interface TokenRecord {
  id: string;
  hash: string;
  /** An exact agent id; for a minting token a pattern that ends in `*`. */
  agent: string;
  role: string;
  permissions: Permission[];
  createdAt: number;
  /** Absent for a token that never expires. */
  expiresAt?: number;
  /** The minting token that issued it. */
  parentId?: string;
}

/** Where tokens are kept, and which agents ever connected. A resolved change is durable. */
export interface TokenStore extends AsyncDisposable {
  all(): Promise<TokenRecord[]>;
  add(record: TokenRecord): Promise<void>;
  /** Forgets a token; false if there was none. */
  remove(id: string): Promise<boolean>;
  /** Agents that connected once, whatever became of their tokens. */
  agents(): Promise<string[]>;
  /** Remembers agents; the 100,000 newest are kept. */
  addAgents(agents: readonly string[]): Promise<void>;
}
