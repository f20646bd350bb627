/** Percentiles of one group of workers in one round, and what each of its workers got done. */
export interface LoadFigures {
  /** Seconds from the end of the warm-up. */
  seconds: number;
  /** Operations that succeeded, by worker. */
  done: number[];
  /** Operations that were turned away by a limit, or failed. */
  refused: number;
  p50Ms: number;
  p99Ms: number;
}

/** One round of the modest workers, beside the greedy one where there was one. */
export interface FairnessRound {
  modest: LoadFigures;
  greedy?: LoadFigures;
}

/** How the shares are spread over the modest workers; 1 is a worker's whole fair share. */
export interface Shares {
  min: number;
  p10: number;
  median: number;
}

/** The modest workers under one condition. Rates and shares over all rounds together, latencies the medians of the rounds. */
export interface FairnessRow {
  condition: string;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Absent where there was no greedy one. */
  greedy?: { perSecond: number; refusedPerSecond: number };
  shares?: Shares;
  /** The smallest share of any worker in any single round. */
  worstRound?: number;
  rounds: FairnessRound[];
}

export type Victim = 'broker' | 'orchestrator' | 'server';

/** One kill -9. */
export interface KillRound {
  /** Time from the kill to each worker's first result of a call that began after it, ascending; null if none came in time. */
  workersMs: (number | null)[];
  /** Time until the last worker was connected again; absent if no connection was lost. */
  connectedMs?: number;
  /** From the kill until the new process said it was ready; absent for the MCP server, which its orchestrator restarts. */
  readyMs?: number;
}

/** What the callers were told of the calls that ended after the kills of one process, held against what ran. */
export interface CallTally {
  results: number;
  outcomeUnknown: number;
  /** Other typed outcomes, by code. */
  failures: Record<string, number>;
  /** No end by their deadline, or a result of what never ran. */
  lost: number;
  /** Ran twice, though not safe to repeat. */
  doubled: number;
  /** Said not to have run, but ran. */
  deniedFalsely: number;
}

export interface RecoveryRow {
  victim: Victim;
  kills: KillRound[];
  tally: CallTally;
}

/** How the fleet shares and how it comes back, as numbers; JSON. */
export interface FleetReport {
  workers: { fair: number; recovering: number };
  /** The tool of the calls, and how many calls ran at once on its server. */
  tool: { name: string; ms: number; atOnce: number };
  calls: FairnessRow[];
  messages: FairnessRow[];
  recovery: RecoveryRow[];
  /** Latency of the recovering workers' calls before anybody was killed. */
  calm: { p50Ms: number; p99Ms: number };
}
