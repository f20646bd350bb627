/** Milliseconds within which a part of the samples lies, and the longest one. */
export interface Latencies {
  p50: number;
  p99: number;
  longest: number;
}

/** The figures of agents at two brokers on one schema, one of which is killed. */
export interface ScaleReport {
  /** Inboxes with a pending message. */
  inboxes: number;
  agents: number;
  /** The time from the first agent to the last one, in milliseconds. */
  connectedMs: number;
  /** The times from a `deliver` until its recipient has the message, at the same broker and at the other one. */
  wakeUps: { samples: number; same: Latencies; across: Latencies };
  kill: {
    /** Agents at the broker that was killed. */
    moved: number;
    /** The times from the kill until each of them is subscribed at the other broker. */
    subscribedMs: Latencies;
    /** The times from the kill until each of them has a message that was sent to it after the kill. */
    servedMs: Latencies;
  };
}

/** A table after some time at full rate. */
export interface TableState {
  table: string;
  liveRows: number;
  deadRows: number;
  bytes: number;
}

/** Request and reply at full rate for some minutes. */
export interface TurnoverReport {
  /** Requests a second, minute by minute. */
  perSecond: number[];
  /** The largest tables, minute by minute. */
  tables: TableState[][];
  autovacuums: number;
}

export interface BrokersReport {
  postgres: string;
  scale?: ScaleReport;
  turnover?: TurnoverReport;
}
