/** How costs grow with what the broker has to keep; JSON. */
export interface GrowthReport {
  ladders: Ladder[];
  /** A measurement that failed, and the reason. */
  skipped: { name: string; reason: string }[];
}

/** The same costs at each of several sizes, smallest first. */
export interface Ladder {
  name: 'pending' | 'inboxes' | 'connections' | 'history' | 'start';
  sizes: { size: number; label: string }[];
  costs: Cost[];
  /** How this run differed from the description in the document. */
  notes: string[];
}

/** A cost that is measured at each size, and its target. */
export interface CostKind {
  name: string;
  unit: 'µs' | 'ms' | 's' | 'KB' | 'MB' | '/s';
  target?: Target;
}

/** `timesSmallest`: no size costs more than so many times the smallest. `atMost`: a bound for each size; null where there is none. */
export type Target = { timesSmallest: number } | { atMost: readonly (number | null)[] };

export interface Cost extends CostKind {
  /** For each size, the median of its samples; null where it was not measured. */
  values: (number | null)[];
  /** For each size, what was measured, in order. */
  samples: number[][];
}

export interface GrowthOptions {
  /** How often everything is measured; medians are told. */
  rounds: number;
  /** Least length of one timed run. */
  seconds: number;
  /** Measures also ten million settled messages instead of one million. */
  full: boolean;
  /** Ends it between steps, and a long step that is under way. */
  signal: AbortSignal;
  tell: (line: string) => void;
}
