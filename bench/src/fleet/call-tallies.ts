import type { CallTally, Victim } from './fleet-report.ts';

/** The end of a call, as its caller saw it. */
export type CallEnd = 'result' | { code: string; mayHaveRun: boolean };

/** A call of the counting tool. `after` is the process that had been killed last when it ended. */
export interface WatchedCall {
  label: string;
  /** Undefined while the call has not ended. */
  end: CallEnd | undefined;
  after: Victim | undefined;
}

/** The ends of calls, by the process that was killed last. */
export type Tallies = Partial<Record<Victim | 'none', CallTally>>;

/**
 * Compares the ends that the callers saw with the labels of the calls that ran (one for each run), by victim. Calls that ended before the
 * first kill count under `none`.
 */
export function talliesOf(calls: readonly WatchedCall[], ran: Iterable<string>): Tallies {
  const times = new Map<string, number>();
  for (const label of ran) times.set(label, (times.get(label) ?? 0) + 1);
  const tallies: Tallies = {};
  for (const { label, end, after = 'none' } of calls) {
    tallies[after] ??= emptyTally();
    enter(tallies[after], end, times.get(label) ?? 0);
  }
  return tallies;
}

export function emptyTally(): CallTally {
  return { results: 0, outcomeUnknown: 0, failures: {}, lost: 0, doubled: 0, deniedFalsely: 0 };
}

function enter(tally: CallTally, end: CallEnd | undefined, timesRun: number): void {
  if (timesRun > 1) tally.doubled++;
  if (end === undefined || (end === 'result' && timesRun === 0)) tally.lost++;
  else if (end === 'result') tally.results++;
  else {
    if (!end.mayHaveRun && timesRun > 0) tally.deniedFalsely++;
    if (end.code === 'outcome_unknown') tally.outcomeUnknown++;
    else tally.failures[end.code] = (tally.failures[end.code] ?? 0) + 1;
  }
}
