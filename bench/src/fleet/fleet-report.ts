/** The percentiles of one group of workers in one round, and the operations of each worker. */
export interface LoadFigures {
  /** Seconds from the end of the warm-up. */
  seconds: number;
  /** The number of operations that succeeded, by worker. */
  done: number[];
  /** The number of operations that a limit refused, or that failed. */
  refused: number;
  p50Ms: number;
  p99Ms: number;
}

/** One round of the modest workers, with the greedy one if it took part. */
export interface FairnessRound {
  modest: LoadFigures;
  greedy?: LoadFigures;
}

/** The distribution of the shares over the modest workers; 1 is a worker's whole fair share. */
export interface Shares {
  min: number;
  p10: number;
  median: number;
}

/** The modest workers under one condition. Rates and shares are over all rounds together, latencies are the medians of the rounds. */
export interface FairnessRow {
  condition: string;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Absent if no greedy worker took part. */
  greedy?: { perSecond: number; refusedPerSecond: number };
  shares?: Shares;
  /** The smallest share of any worker in any single round. */
  worstRound?: number;
  rounds: FairnessRound[];
}

export type Victim = 'broker' | 'orchestrator' | 'server';

/** One kill -9. */
export interface KillRound {
  /** The time from the kill to each worker's first result of a call that began after it, ascending; null if none came in time. */
  workersMs: (number | null)[];
  /** The time until the last worker was connected again; absent if no connection was lost. */
  connectedMs?: number;
  /**
   * The time from the kill until the new process reported that it was ready; absent for the MCP server, which its orchestrator restarts.
   */
  readyMs?: number;
}

/** The ends that callers saw of the calls after the kills of one process, compared with the calls that ran. */
export interface CallTally {
  results: number;
  outcomeUnknown: number;
  /** The number of other typed outcomes, by code. */
  failures: Record<string, number>;
  /** Calls without an end by their deadline, or with a result although they never ran. */
  lost: number;
  /** Calls that ran twice, though not safe to repeat. */
  doubled: number;
  /** Calls that ran although their end said that they had not. */
  deniedFalsely: number;
}

export interface RecoveryRow {
  victim: Victim;
  kills: KillRound[];
  tally: CallTally;
}

/** The shares of a fleet and its recovery, as numbers; JSON. */
export interface FleetReport {
  workers: { fair: number; recovering: number };
  /** The tool of the calls, and the number of calls that its server runs at once. */
  tool: { name: string; ms: number; atOnce: number };
  calls: FairnessRow[];
  messages: FairnessRow[];
  recovery: RecoveryRow[];
  /** The latency of the recovering workers' calls before anything was killed. */
  calm: { p50Ms: number; p99Ms: number };
}
