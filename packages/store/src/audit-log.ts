const MiB = 1024 * 1024;

/**
 * The kinds of audit events. Each has a chain of its own and a budget in bytes. If a kind exceeds its budget, its oldest rows are dropped,
 * so that a flood of one kind removes no rows of another. A kind that is `kept` never loses a row. It is full when it has reached its
 * budget: callers check that before they let anybody but an operator add to it.
 */
export const auditKinds = {
  /** Changes of tokens, roles, policies, servers and the configuration. */
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
  /** Absent if no token was recognised. */
  tokenId?: string;
  agent?: string;
  role?: string;
  /** The name of the tool, the inbox or the field that the event is about. Merged events are counted by it. */
  name?: string;
  /** A text of one line. */
  detail: string;
  /** True for events that may come in floods: events that are alike, also in their name, are counted together for a minute. */
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

/** The two ends of the chain of one kind. */
export interface AuditChain {
  kind: AuditKind;
  /**
   * The number and the hash of the last row that was dropped to keep within the budget. If none was, the number is 0, and the hash is the
   * one before every first row.
   */
  dropped: { number: number; hash: string };
  last: { number: number; hash: string };
  rows: number;
  bytes: number;
}

/** Selects rows that were recorded at or after `since`: those that follow the row `after`, or with `before` those that precede that one. */
export interface AuditQuery {
  since: number;
  kinds: readonly AuditKind[];
  after?: number;
  before?: number;
  limit: number;
}

/** A log of the things that agents and operators did. Each row is chained to the row of the same kind before it. */
export interface AuditLog extends AsyncDisposable {
  /**
   * Records an event. A `change` is written at once (see {@link changesWritten}), other events within a second, and repeats of a merged
   * event within a minute. Never throws: an event that can't be written is kept for a while, and counted if it is given up.
   */
  record(event: AuditEvent): void;
  /** Resolves when all changes that were recorded so far are on disk, if the disk accepts them. Returns `undefined` if they already are. */
  changesWritten(): Promise<void> | undefined;
  /**
   * Records the events that another process reports: all of them, or none. They are written when this resolves. Resolves with false if the
   * last batch from that process had the same id: it did not learn that the batch was recorded. Rejects with a `StoreError`.
   */
  recordBatch(batch: { from: string; id: string }, events: readonly AuditEvent[]): Promise<boolean>;
  /**
   * Reads rows of several kinds in the order of their numbers, and with `before` in the reverse order, after everything that was recorded so
   * far is written. Rejects with a `StoreError`.
   */
  read(query: AuditQuery): Promise<AuditRow[]>;
  /** Reads rows of a chain after a number, in their order, and the ends of the chain at that moment. Rejects with a `StoreError`. */
  readChain(kind: AuditKind, after: number, limit: number): Promise<{ rows: AuditRow[]; chain: AuditChain }>;
  /** Returns the used part of a kind's budget; the kind is full at 1 or more. */
  usedPart(kind: AuditKind): number;
}
