/** How costs grow with what the broker has to keep; JSON. */
export interface GrowthReport {
  ladders: Ladder[];
  /** What was not measured, and why. */
  skipped: { name: string; reason: string }[];
}

/** The same costs at each of several sizes, smallest first. */
export interface Ladder {
  name: 'pending' | 'inboxes' | 'connections' | 'history' | 'start';
  sizes: { size: number; label: string }[];
  costs: Cost[];
  /** What this run did differently from what the document says. */
  notes: string[];
}

/** What is measured at each size, and what is asked of it. */
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
  /** With ten million settled messages instead of one. */
  full: boolean;
  /** Ends it between steps, and a long step that is under way. */
  signal: AbortSignal;
  tell: (line: string) => void;
}
