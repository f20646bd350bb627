import { expect, it } from 'vitest';
import { late, longestTimerMs, timerMs, within } from './time-limit.ts';

const never = new Promise<string>(() => {});

it('waits for a promise until the time is up or the signal is aborted', async () => {
  expect(await within(Promise.resolve('in time'), 1000)).toBe('in time');
  expect(await within(never, 1)).toBe(late);
  const leaving = new AbortController();
  const waiting = within(never, 60_000, leaving.signal);
  leaving.abort();
  expect(await waiting).toBe(late);
  expect(await within(Promise.resolve('in time'), 1000, leaving.signal)).toBe(late);
  await expect(within(Promise.reject(new Error('it failed')), 1000)).rejects.toThrow('it failed');
});

it('keeps the delay of a timer between one millisecond and the longest', () => {
  expect([-1, 0.2, 1.5, Number.POSITIVE_INFINITY].map(timerMs)).toEqual([1, 1, 2, longestTimerMs]);
});
