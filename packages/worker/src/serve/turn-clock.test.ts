import { expect, test } from 'vitest';
import { TurnClock } from './turn-clock.ts';

/** A clock of 10 s that stands still for at most 60 s, with a time that the test moves. */
function startClock() {
  let now = 0;
  let timer: { at: number; run: () => void } | undefined;
  const told: number[] = [];
  const clock = new TurnClock({
    limitMs: 10_000,
    mostHeldMs: 60_000,
    now: () => now,
    startTimer: (run, ms) => {
      const own = { at: now + ms, run };
      timer = own;
      return () => {
        if (timer === own) timer = undefined;
      };
    },
    onLate: () => told.push(now),
  });
  const pass = (ms: number) => {
    const until = now + ms;
    while (timer && timer.at <= until) {
      const { at, run } = timer;
      timer = undefined;
      now = at;
      run();
    }
    now = until;
  };
  return { clock, told, pass };
}

test('a turn is late after its time, and not after it has ended', () => {
  const { told, pass } = startClock();
  pass(9_999);
  expect(told).toEqual([]);
  pass(1);
  expect(told).toEqual([10_000]);
  const ended = startClock();
  ended.clock[Symbol.dispose]();
  ended.pass(100_000);
  expect(ended.told).toEqual([]);
});

test('the time stands still while any question waits', () => {
  const { clock, told, pass } = startClock();
  pass(4_000);
  const [first, second] = [clock.hold(), clock.hold()];
  pass(30_000);
  first();
  first();
  pass(20_000);
  second();
  pass(5_999);
  expect(told).toEqual([]);
  pass(1);
  expect(told).toEqual([60_000]);
});

test('all questions of a turn together hold it for a bounded time', () => {
  const { clock, told, pass } = startClock();
  clock.hold()();
  const end = clock.hold();
  pass(40_000);
  end();
  clock.hold();
  pass(20_000);
  expect(told).toEqual([]);
  pass(10_000);
  expect(told).toEqual([70_000]);
});
