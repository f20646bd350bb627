/** The growth of costs with the amount that the broker has to keep; JSON. */
export interface GrowthReport {
  ladders: Ladder[];
  /** The measurements that failed, and the reasons. */
  skipped: { name: string; reason: string }[];
}

/** The same costs at each of several sizes, the smallest first. */
export interface Ladder {
  name: 'pending' | 'inboxes' | 'connections' | 'history' | 'start';
  sizes: { size: number; label: string }[];
  costs: Cost[];
  /** The differences of this run from the description in the document. */
  notes: string[];
}

/** A cost that is measured at each size, and its target. */
export interface CostKind {
  name: string;
  unit: 'µs' | 'ms' | 's' | 'KB' | 'MB' | '/s';
  target?: Target;
}

/** `timesSmallest`: no size may cost more than this many times the smallest. `atMost`: a bound for each size; null if it has none. */
export type Target = { timesSmallest: number } | { atMost: readonly (number | null)[] };

export interface Cost extends CostKind {
  /** The median of the samples for each size; null if the size was not measured. */
  values: (number | null)[];
  /** The samples for each size, in order. */
  samples: number[][];
}

export interface GrowthOptions {
  /** The number of times that everything is measured; the report has the medians. */
  rounds: number;
  /** The shortest length of one timed run, in seconds. */
  seconds: number;
  /** True: measures also ten million settled messages instead of one million. */
  full: boolean;
  /** Ends the run between two steps, and also a long step that is running. */
  signal: AbortSignal;
  tell: (line: string) => void;
}
