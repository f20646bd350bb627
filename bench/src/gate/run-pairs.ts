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
      const turns = { operation, count, baseBegins: number % 2 === 0 };
      const pair = await unlessAborted(signal, () => runPair(stacks, turns));
      if (number > 0) onPair(operation, pair);
      else counts.set(operation, Math.max(wave, wave * Math.round(pairUs / pair.baseUs / 2 / wave)));
    }
  }
}

/**
 * Lets the sides alternate, two turns each of `count` operations. A side with two turns in a row would pay in the second one for what it left
 * over in the first. The caller changes the side that begins.
 */
async function runPair(
  { base, current }: Stacks,
  { operation, count, baseBegins }: { operation: GateOperation; count: number; baseBegins: boolean },
): Promise<Pair> {
  const spent = new Map<Stack, number>();
  const order = baseBegins ? [base, current] : [current, base];
  for (const stack of [...order, ...order]) {
    spent.set(stack, (spent.get(stack) ?? 0) + (await stack.run(operation, count)) / 2);
  }
  await Promise.all([base.tidy(), current.tidy()]);
  return { baseUs: spent.get(base)!, newUs: spent.get(current)! };
}
