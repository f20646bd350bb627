import { expect, test } from 'vitest';
import { NoteBundles } from './note-bundles.ts';

function setUp() {
  const timers: { run: () => void; delayMs: number; isCancelled: boolean }[] = [];
  const ready: string[][] = [];
  const bundles = new NoteBundles<{ name: string; thread: string | undefined; bytes: number }>({
    waitMs: 60_000,
    startTimer: (run, delayMs) => {
      const timer = { run, delayMs, isCancelled: false };
      timers.push(timer);
      return () => {
        timer.isCancelled = true;
      };
    },
    onReady: (notes) => ready.push(notes.map(({ name }) => name)),
  });
  const note = (name: string, thread?: string, bytes = 10) => ({ name, thread, bytes });
  return { bundles, timers, ready, note };
}

test('Notes of one thread are ready together, 60 s after the first.', () => {
  const { bundles, timers, ready, note } = setUp();
  for (const one of [note('a'), note('b', 't'), note('c')]) bundles.add(one);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([60_000, 60_000]);
  expect(ready).toEqual([]);
  timers[0]!.run();
  expect(ready).toEqual([['a', 'c']]);
  expect(bundles.count).toBe(1);
  bundles.add(note('d'));
  expect(timers).toHaveLength(3);
});

test('Sixteen notes, or large ones, wait no longer, and their timer is cancelled.', () => {
  const { bundles, timers, ready, note } = setUp();
  for (let at = 0; at < 16; at++) bundles.add(note(`${at}`));
  expect(ready).toHaveLength(1);
  bundles.add(note('large', undefined, 60_000));
  expect(ready[1]).toEqual(['large']);
  expect(timers.map(({ isCancelled }) => isCancelled)).toEqual([true, true]);
});

test('Of notes of many threads the oldest wait no longer when there are 32.', () => {
  const { bundles, ready, note } = setUp();
  for (let at = 0; at < 33; at++) bundles.add(note(`${at}`, `t${at}`));
  expect(ready).toEqual([['0'], ['1']]);
  expect(bundles.count).toBe(31);
});

test('A note that was taken out is in no bundle, and the last one takes the timer with it.', () => {
  const { bundles, timers, note } = setUp();
  const only = note('a');
  bundles.add(only);
  expect(bundles.remove(only)).toBe(true);
  expect(bundles.remove(only)).toBe(false);
  expect(timers[0]!.isCancelled).toBe(true);
  expect(bundles.stop()).toEqual([]);
});
