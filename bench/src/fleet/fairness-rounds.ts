import { unlessAborted, waitFor } from '../abortable.ts';
import type { Child } from '../processes.ts';
import type { FairnessRound, LoadFigures } from './fleet-report.ts';
import type { LoadOrder } from './load-orders.ts';

/** One condition of the comparison: the greedy worker is absent, waits when it is told to (`heeds`), or does not (`insists`). */
export interface Condition {
  condition: string;
  greedy: 'absent' | 'heeds' | 'insists';
}

export interface FairnessOptions {
  rounds: number;
  seconds: number;
  signal: AbortSignal;
  tell: (line: string) => void;
}

const warmUpMs = 500;
const answerMs = 90_000;

/** Measures the conditions in turn, forward and backward, with the modest and the greedy workers in one process each. */
export async function fairnessRounds(
  what: string,
  conditions: readonly Condition[],
  processes: { modest: Child; greedy: Child },
  options: FairnessOptions,
): Promise<{ condition: string; rounds: FairnessRound[] }[]> {
  const { rounds, tell } = options;
  const measured = conditions.map((one) => ({ ...one, rounds: [] as FairnessRound[] }));
  for (let round = 1; round <= rounds; round++) {
    for (const one of round % 2 === 0 ? measured.toReversed() : measured) {
      const figures = await runOnce(one.greedy, processes, options);
      one.rounds.push(figures);
      tell(`round ${round} of ${rounds}: ${what}, ${one.condition}: ${summary(figures)}`);
    }
  }
  return measured.map(({ condition, rounds }) => ({ condition, rounds }));
}

async function runOnce(
  greedy: Condition['greedy'],
  processes: { modest: Child; greedy: Child },
  { seconds, signal }: FairnessOptions,
): Promise<FairnessRound> {
  const isGreedy = greedy !== 'absent';
  const loaded = isGreedy ? [processes.modest, processes.greedy] : [processes.modest];
  const order = <T = void>(one: LoadOrder): Promise<T[]> =>
    unlessAborted(signal, () => Promise.all(loaded.map((load) => load.ask<T>(one, answerMs))));
  await order({ op: 'start', heeds: greedy !== 'insists' });
  await waitFor(warmUpMs, signal);
  await order({ op: 'mark' });
  await waitFor(seconds * 1000, signal);
  const [modest, flood] = await order<LoadFigures>({ op: 'stop' });
  return { modest: modest!, ...(flood && { greedy: flood }) };
}

function summary({ modest, greedy }: FairnessRound): string {
  const rate = ({ done, seconds }: LoadFigures): string =>
    `${(done.reduce((total, n) => total + n, 0) / seconds).toFixed(0)}/s`;
  const others = greedy ? `, the greedy one ${rate(greedy)}, ${greedy.refused} refused` : '';
  return `${rate(modest)}, p50 ${modest.p50Ms.toFixed(1)} ms, p99 ${modest.p99Ms.toFixed(1)} ms${others}`;
}
