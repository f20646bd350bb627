import type { AuditKind, AuditLog, ClusterPort, GivenCaps, InboxStore, TokenStore } from '@signalbox/store';

/** The places in which a broker keeps what must outlive it. */
export interface Stores {
  inboxes: InboxStore;
  /** The brokers that share them. */
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
   * Opens them. The data directory is locked. Disposing the result closes them. With `now`, all brokers on the stores go by that clock, in
   * epoch milliseconds, and not by those of their machines. Rejects with a `StoreError`.
   */
  open(settings: StoreSettings): Promise<Stores & { now?: () => number } & AsyncDisposable>;
  /** Why the broker makes no backup, and how to make one. */
  readonly noBackup: string;
}
