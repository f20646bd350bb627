const MiB = 1024 * 1024;

/**
 * The kinds of audit events. Each has a chain of its own and a budget in bytes: of a kind that uses it up, the oldest rows are dropped,
 * so that a flood of one kind pushes out no other. A kind that is `kept` never loses a row. It is full at its budget, which callers
 * ask for before they let somebody else than an operator add to it.
 */
export const auditKinds = {
  /** Tokens, roles, policies, servers, configuration: what somebody changed. */
  change: { maxBytes: 1024 * MiB, kept: true },
  /** Tool calls that ran. */
  call: { maxBytes: 256 * MiB, kept: false },
  /** Reads by operators and observers. */
  read: { maxBytes: 32 * MiB, kept: false },
  connect: { maxBytes: 32 * MiB, kept: false },
  /** Frames, connections and tool calls that were refused. */
  refusal: { maxBytes: 64 * MiB, kept: false },
  /** Dead letters that were dropped, damage, and events that could not be recorded. */
  loss: { maxBytes: 32 * MiB, kept: false },
} as const;

/** A kind of audit events. */
export type AuditKind = keyof typeof auditKinds;

/** One event for the audit log. Nothing in it is secret. `at` is in epoch milliseconds. */
export interface AuditEvent {
  kind: AuditKind;
  at: number;
  code: string;
  /** Absent where no token was recognised. */
  tokenId?: string;
  agent?: string;
  role?: string;
  /** The name of the tool, the inbox or the field that it is about. Merged events are counted by it. */
  name?: string;
  /** One line. */
  detail: string;
  /** True for events that may come in floods: those of one token, agent, code and name are counted together for a minute. */
  merged?: boolean;
  /** The number of times that it happened, if its reporter has counted them. */
  count?: number;
  /** Further fields of the entry. */
  facts?: Readonly<Record<string, string | number>>;
}

/** One row of the audit log: the JSON text of an entry, which holds the hash of the row before it, and the SHA-256 of that text. */
export interface AuditRow {
  kind: AuditKind;
  number: number;
  entry: string;
  /** The SHA-256 of `entry` in hex. */
  hash: string;
}

/** The ends of the chain of one kind. */
export interface AuditChain {
  kind: AuditKind;
  /** The number and the hash of the last row that was dropped to keep within the budget, or 0 and the hash before every first row. */
  dropped: { number: number; hash: string };
  last: { number: number; hash: string };
  rows: number;
  bytes: number;
}

/** Selects rows that were recorded at or after `since`, behind the number of a row that was read before. */
export interface AuditQuery {
  since: number;
  kinds: readonly AuditKind[];
  after?: number;
  limit: number;
}

/** A log of who did what. Each row is chained to the one before it of the same kind. */
export interface AuditLog extends AsyncDisposable {
  /**
   * Records an event. A `change` is written at once, see {@link changesWritten}; others are within a second, and repeats of a merged event
   * within a minute. Never throws: what can't be written is kept for a while, and counted if it is given up.
   */
  record(event: AuditEvent): void;
  /** Resolves when all changes that were recorded so far are on disk, if the disk takes them. `undefined` if they are already. */
  changesWritten(): Promise<void> | undefined;
  /**
   * Records what another process reports, all of it or nothing. It is written when this resolves. Resolves with false if the last batch from
   * there had the same id: its sender did not learn that it was recorded. Rejects with a `StoreError`.
   */
  recordBatch(batch: { from: string; id: string }, events: readonly AuditEvent[]): Promise<boolean>;
  /**
   * Reads rows of several kinds in the order of their numbers, after everything that was recorded so far is written. Rejects with a
   * `StoreError`.
   */
  read(query: AuditQuery): Promise<AuditRow[]>;
  /** Reads rows of a chain behind a number, in their order, and its ends at that moment. Rejects with a `StoreError`. */
  readChain(kind: AuditKind, after: number, limit: number): Promise<{ rows: AuditRow[]; chain: AuditChain }>;
  /** Returns which part of its budget a kind has used: 1 and more is all of it. */
  usedPart(kind: AuditKind): number;
}
