import type { Cost, SmokeRound } from './parts.ts';

/** The quotient of the bare parts' cost and the operation's cost: 0.5 if the operation costs twice as much as its parts. */
export interface Ratios {
  request: number;
  enqueue: number;
}

export const operations = ['request', 'enqueue'] as const;

/** `bench/smoke.json`. */
export interface SmokeRecord {
  date: string;
  machine: string;
  ratios: Ratios;
}

/** The part of the recorded ratio that may be lost before the check fails. */
const tolerance = 0.25;

/**
 * Returns the cost of the bare parts in all rounds together, divided by that of the operation. A message is a frame and a row, and a
 * request has a reply: two of each.
 *
 * CPU time is used, not elapsed time: on two cores at load averages of 4 to 10, eight runs by the clock were up to 22 % off their median
 * (coefficient of variation 10 %), by CPU time up to 10 % (4 % for requests, 6 % for enqueues). Sums of all rounds varied less than medians
 * of each round's ratio (3 % and 7 % for requests over six runs), because some rounds fall on a checkpoint or a garbage collection. As it
 * is now, eight runs of one state were within 12 % of their median. The price of CPU time: it does not show a wait that uses none; `npm run
 * bench` does.
 */
export function ratiosOf(rounds: readonly SmokeRound[], of: keyof Cost = 'cpuUs'): Ratios {
  const sum = (part: keyof SmokeRound): number => rounds.reduce((all, round) => all + round[part][of], 0);
  const bare = sum('echo') + sum('row');
  return { request: (2 * bare) / sum('request'), enqueue: bare / sum('enqueue') };
}

/** Returns a text for each operation that has become too slow; empty if none has. */
export function faultsOf(found: Ratios, record: SmokeRecord): string[] {
  return operations
    .filter((operation) => found[operation] < record.ratios[operation] * (1 - tolerance))
    .map((operation) => {
      const [now, then] = [found[operation], record.ratios[operation]];
      return `${operation}: ratio ${now.toFixed(3)}, recorded ${then.toFixed(3)} on ${record.date} (${record.machine}): ${Math.round((1 - now / then) * 100)} % less; ${tolerance * 100} % are allowed`;
    });
}
