import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LargeTurns } from './large-turns.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Asks for a turn, and keeps in `begun` that it has come. */
function turn(turns: LargeTurns, begun: number[], name: number): Promise<() => void> {
  const coming = turns.next();
  void coming.then(() => begun.push(name));
  return coming;
}

test('large texts take turns, with a pause after each that is as long as it took, and the first does not wait', async () => {
  const turns = new LargeTurns(() => performance.now());
  const begun: number[] = [];
  const [first, second, third] = [1, 2, 3].map((name) => turn(turns, begun, name));
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
  await turn(turns, begun, 4);
  expect(begun).toEqual([1, 2, 3, 4]);
});

test('an end that never comes holds the next one up for a second', async () => {
  const turns = new LargeTurns(() => performance.now());
  const begun: number[] = [];
  const [, second] = [1, 2].map((name) => turn(turns, begun, name));
  await vi.advanceTimersByTimeAsync(999);
  expect(begun).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toEqual([1, 2]);
  (await second!)();
});
