import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LargeSlices } from './large-slices.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Asks for a slice, and keeps in `begun` that it has come. */
function slice(slices: LargeSlices, begun: number[], name: number): Promise<() => void> {
  const coming = slices.next();
  void coming.then(() => begun.push(name));
  return coming;
}

test('large texts take turns, with a pause after each that is as long as it took, and the first does not wait', async () => {
  const slices = new LargeSlices(() => performance.now());
  const begun: number[] = [];
  const [first, second, third] = [1, 2, 3].map((name) => slice(slices, begun, name));
  const endFirst = await first!;
  await vi.advanceTimersByTimeAsync(100);
  expect(begun).toEqual([1]);
  endFirst();
  await vi.advanceTimersByTimeAsync(99);
  expect(begun).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toEqual([1, 2]);
  (await second!)();
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toEqual([1, 2, 3]);
  await vi.advanceTimersByTimeAsync(900);
  (await third!)();
  await vi.advanceTimersByTimeAsync(250);
  await slice(slices, begun, 4);
  expect(begun).toEqual([1, 2, 3, 4]);
});

test('an end that never comes holds the next one up for a second', async () => {
  const slices = new LargeSlices(() => performance.now());
  const begun: number[] = [];
  const [, second] = [1, 2].map((name) => slice(slices, begun, name));
  await vi.advanceTimersByTimeAsync(999);
  expect(begun).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toEqual([1, 2]);
  (await second!)();
});
