import type {
  AuditKind,
  AuditLog,
  ClusterPort,
  GivenCaps,
  InboxStore,
  KeepBodies,
  TokenStore,
} from '@signalbox/store';

/** The stores of a broker's lasting data. */
export interface Stores {
  inboxes: InboxStore;
  /** The brokers that share these stores. */
  cluster: ClusterPort;
  tokens: TokenStore;
  audit: AuditLog;
}

/** The settings with which a broker opens its stores. */
export interface StoreSettings {
  caps: GivenCaps;
  isPrivileged: (agent: string) => boolean;
  deadLetters: {
    maxCount: number;
    maxBytes: number;
    maxCountPerAgent: number;
    maxBytesPerAgent: number;
    maxAgeMs: number;
  };
  keepBodies: KeepBodies | undefined;
  retentionMs: number;
  retentionBytes: number;
  dedupeWindowMs: number;
  /** The budget of each kind of the audit log. */
  auditBytes: Record<AuditKind, number>;
  /** Called when audit events could not be written; they are tried again. */
  onAuditError: (error: unknown) => void;
  now: () => number;
  monotonic: () => number;
}

/** Stores that are not in the data directory. */
export interface StoresElsewhere {
  /**
   * Opens the stores. The data directory is locked. Disposing the result closes them. With `now`, all brokers on the stores use that clock,
   * in epoch milliseconds, instead of those of their machines. Rejects with a `StoreError`.
   */
  open(settings: StoreSettings): Promise<Stores & { now?: () => number } & AsyncDisposable>;
  /** The reason why the broker makes no backup, and the way to make one. */
  readonly noBackup: string;
}
