import { expect, test } from 'vitest';
import { ProgressNumbers } from './progress-numbers.ts';

test('the numbers of a few hundred calls are known, and those of calls that long had no progress are forgotten', () => {
  const numbers = new ProgressNumbers();
  const shown = (progressToken: number, progress: number): number => {
    const line = JSON.stringify({ params: { progressToken, progress } });
    return JSON.parse(numbers.shown(line)).params.progress;
  };
  for (let call = 0; call < 257; call++) {
    shown(call, 5);
    shown(1, 5);
  }
  numbers.faceLost();
  expect([0, 1, 256].map((call) => shown(call, 1))).toEqual([1, 6, 6]);
});
