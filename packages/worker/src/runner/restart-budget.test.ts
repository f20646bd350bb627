import { expect, test } from 'vitest';
import { defaultRestartPolicy, RestartBudget } from './restart-budget.ts';

test('waits double up to the longest, half of each by chance', () => {
  const budget = new RestartBudget({ ...defaultRestartPolicy, failures: 10, longestDelayMs: 5000 });
  const waits = [0, 0.999999, 0, 0].map((random) => budget.failed(0, random));
  expect(waits).toEqual([{ delayMs: 500 }, { delayMs: 2000 }, { delayMs: 2000 }, { delayMs: 2500 }]);
});

test('the fifth failure within a minute ends it, and the same a moment later does not', () => {
  const at = (last: number) => {
    const budget = new RestartBudget(defaultRestartPolicy);
    for (const time of [0, 1, 2, 3]) budget.failed(time, 0);
    return budget.failed(last, 0);
  };
  expect(at(59_999)).toEqual({ failures: 5 });
  expect(at(60_000)).toEqual({ delayMs: expect.any(Number) });
});
