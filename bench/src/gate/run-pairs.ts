import { unlessAborted } from '../abortable.ts';
import type { GateOperation } from './gate-operations.ts';
import { wave } from './repeat.ts';
import type { Stack } from './stack.ts';
import type { Pair } from './verdict.ts';

export interface Stacks {
  base: Stack;
  current: Stack;
}

/** The processor time that a side is to take in one pair, in microseconds. A long block would not meet the same noise as its partner. */
const pairUs = 80_000;
/** The first pairs compile. From each of them the size of the next one is computed. */
const warmUps = 8;
const firstCount = 2 * wave;

/** Measures pairs of each operation on two stacks that are both up, and hands each to `onPair`. */
export async function runPairs(
  stacks: Stacks,
  { operations, pairs, signal }: { operations: readonly GateOperation[]; pairs: number; signal: AbortSignal },
  onPair: (operation: GateOperation, pair: Pair) => void,
): Promise<void> {
  const counts = new Map(operations.map((operation) => [operation, firstCount]));
  for (let number = 1 - warmUps; number <= pairs; number++) {
    for (const [operation, count] of counts) {
      const pair = await unlessAborted(signal, () => runPair(stacks, operation, count));
      if (number > 0) onPair(operation, pair);
      else counts.set(operation, Math.max(wave, wave * Math.round(pairUs / pair.baseUs / 2 / wave)));
    }
  }
}

/** The sides take turns: base, new, new, base. `count` is the number of operations of each turn. */
async function runPair({ base, current }: Stacks, operation: GateOperation, count: number): Promise<Pair> {
  const run = (stack: Stack) => stack.run(operation, count);
  const [first, second, third, fourth] = [
    await run(base),
    await run(current),
    await run(current),
    await run(base),
  ];
  await Promise.all([base.tidy(), current.tidy()]);
  return { baseUs: (first + fourth) / 2, newUs: (second + third) / 2 };
}
