import { quantileOf } from '../statistics.ts';
import type { FairnessRound, FairnessRow, Shares } from './fleet-report.ts';

/** Returns the capacity that is divided into fair shares. */
type Capacity = (alone: readonly FairnessRound[], crowded: readonly FairnessRound[]) => number;

/** Takes the larger total, with the greedy worker or without it: a greedy worker that makes everything slower then lowers the shares. */
export const mostDone: Capacity = (alone, crowded) => Math.max(totalRate(alone), totalRate(crowded));

/** Takes the total of the modest workers alone: for greedy work that cannot be counted in the same unit. */
export const doneAlone: Capacity = (alone) => totalRate(alone);

/**
 * Returns each modest worker's result beside the greedy one as a part of its fair share. The fair share is the capacity divided among all
 * workers, including the greedy one, but never more than the worker got without the greedy one, which is all it wants.
 */
export function sharesOf(
  alone: readonly FairnessRound[],
  crowded: readonly FairnessRound[],
  capacity: Capacity,
): number[] {
  const wanted = workerRates(alone);
  const fair = capacity(alone, crowded) / (wanted.length + 1);
  return workerRates(crowded).map((rate, worker) => rate / Math.min(fair, wanted[worker]!));
}

/** Returns the rows of one kind of work; the first condition is the one without a greedy worker. */
export function fairnessRows(
  measured: readonly { condition: string; rounds: FairnessRound[] }[],
  capacity: Capacity,
): FairnessRow[] {
  const alone = measured[0]!.rounds;
  return measured.map(({ condition, rounds }) => {
    const modest = rounds.map((round) => round.modest);
    const row = {
      condition,
      perSecond: sum(workerRates(rounds)),
      p50Ms: middle(modest.map(({ p50Ms }) => p50Ms)),
      p99Ms: middle(modest.map(({ p99Ms }) => p99Ms)),
      rounds,
    };
    if (rounds === alone) return row;
    const byRound = rounds.map((round, at) => sharesOf([alone[at]!], [round], capacity));
    return {
      ...row,
      greedy: {
        perSecond: greedyRate(rounds, ({ done }) => sum(done)),
        refusedPerSecond: greedyRate(rounds, ({ refused }) => refused),
      },
      shares: spreadOf(sharesOf(alone, rounds, capacity)),
      worstRound: Math.min(...byRound.flat()),
    };
  });
}

function spreadOf(shares: readonly number[]): Shares {
  return { min: quantileOf(shares, 0), p10: quantileOf(shares, 0.1), median: quantileOf(shares, 0.5) };
}

function workerRates(rounds: readonly FairnessRound[]): number[] {
  const seconds = sum(rounds.map(({ modest }) => modest.seconds));
  return rounds[0]!.modest.done.map(
    (_, worker) => sum(rounds.map(({ modest }) => modest.done[worker]!)) / seconds,
  );
}

function totalRate(rounds: readonly FairnessRound[]): number {
  return sum(workerRates(rounds)) + greedyRate(rounds, ({ done }) => sum(done));
}

function greedyRate(
  rounds: readonly FairnessRound[],
  countOf: (greedy: NonNullable<FairnessRound['greedy']>) => number,
): number {
  const figures = rounds.flatMap(({ greedy }) => (greedy ? [greedy] : []));
  if (figures.length === 0) return 0;
  return sum(figures.map(countOf)) / sum(figures.map(({ seconds }) => seconds));
}

function middle(values: readonly number[]): number {
  return quantileOf(values, 0.5);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
