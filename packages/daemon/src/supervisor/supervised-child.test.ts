import { expect, test } from 'vitest';
import { restartDelayMs } from './supervised-child.ts';

test('The wait before a restart doubles to five seconds, half of it jitter.', () => {
  expect([1, 2, 3, 7, 50].map((deaths) => restartDelayMs(deaths, 1))).toEqual([100, 200, 400, 5000, 5000]);
  expect(restartDelayMs(1, 0)).toBe(50);
});
