import { expect, test } from 'vitest';
import { restartDelayMs } from './supervised-child.ts';

test('A child is started again at once, and after further deaths in a row with a wait that doubles to its longest, half of it jitter.', () => {
  const delays = [1, 2, 3, 4, 8, 50].map((deaths) => restartDelayMs(deaths, 1, 5000));
  expect(delays).toEqual([0, 100, 200, 400, 5000, 5000]);
  expect(restartDelayMs(2, 0, 5000)).toBe(50);
  expect(restartDelayMs(50, 0, 1000)).toBe(500);
});
