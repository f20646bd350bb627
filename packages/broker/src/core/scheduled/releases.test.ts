import type { NewMessage } from '@signalbox/store';
import { expect, test } from 'vitest';
import { ExpiryClock, holdMs } from '../time/expiry-clock.ts';
import { Releases } from './releases.ts';

const minute = 60_000;
const start = 1_800_000_000_000;

/** Makes releases over messages in memory, on clocks that stand still. `isFull`: the store takes no message. */
function setUp(...dueIn: number[]) {
  let wall = start;
  let monotonic = 0;
  const time = new ExpiryClock({
    now: () => wall,
    monotonic: () => monotonic,
    reached: undefined,
    onLeap() {},
    onHoldEnd() {},
  });
  let waiting = dueIn.map((ms, number) => ({
    createdAt: start + ms,
    release: { number, size: 0, isCounted: true },
  }));
  const released: number[] = [];
  const store = { isFull: false };
  const releases = new Releases({
    isAlone: true,
    scheduled: {
      due: async (at: number, limit: number) =>
        waiting.filter(({ createdAt }) => createdAt <= at).slice(0, limit) as NewMessage[],
      nextDueAt: async () => waiting[0]?.createdAt,
      count: async () => waiting.length,
      list: async () => ({ messages: [] }),
      cancel: async () => [],
    },
    commits: {
      append({ createdAt }) {
        if (store.isFull) return true;
        released.push(createdAt - start);
        waiting = waiting.filter((one) => one.createdAt !== createdAt);
        return true;
      },
      written: async () => {},
    },
    isLeased: () => false,
    time,
    onError(error) {
      throw error;
    },
  });
  return {
    releases,
    released,
    store,
    advance(ms: number) {
      wall += ms;
      monotonic += ms;
    },
    step(ms: number) {
      wall += ms;
    },
  };
}

test('messages are released when they are due, and not a millisecond before', async () => {
  const { releases, released, advance } = setUp(minute, 2 * minute);
  await releases.check();
  advance(minute - 1);
  await releases.check();
  expect(released).toEqual([]);
  advance(1);
  await releases.check();
  expect(released).toEqual([minute]);
  await releases.close();
});

test('what a leap made due waits until the clock is trusted', async () => {
  const { releases, released, advance, step } = setUp(10 * minute);
  await releases.check();
  step(60 * minute);
  await releases.check();
  advance(holdMs - 1);
  await releases.check();
  expect(released).toEqual([]);
  advance(1);
  await releases.check();
  expect(released).toEqual([10 * minute]);
  await releases.close();
});

test('a clock that goes back delays what is not due', async () => {
  const { releases, released, advance, step } = setUp(10 * minute);
  await releases.check();
  step(-60 * minute);
  advance(10 * minute);
  await releases.check();
  expect(released).toEqual([]);
  advance(60 * minute);
  await releases.check();
  expect(released).toEqual([10 * minute]);
  await releases.close();
});

test('a store that takes nothing ends the check, and the next one tries again', async () => {
  const { releases, released, advance, store } = setUp(minute);
  store.isFull = true;
  advance(minute);
  await releases.check();
  expect(released).toEqual([]);
  store.isFull = false;
  await releases.check();
  expect(released).toEqual([minute]);
  await releases.close();
});
