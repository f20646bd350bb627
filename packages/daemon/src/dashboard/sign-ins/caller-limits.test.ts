import { expect, test } from 'vitest';
import { CallerLimits } from './caller-limits.ts';

/** A clock that goes on when somebody sleeps, and the work that is told to all who run. */
function testClock() {
  const running = new Set<(ms: number) => void>();
  return {
    at: 0,
    now(): number {
      return this.at;
    },
    async sleep(ms: number): Promise<void> {
      this.at += ms;
    },
    meter(spend: (ms: number) => void): Disposable {
      running.add(spend);
      return { [Symbol.dispose]: () => running.delete(spend) };
    },
    work(ms: number): void {
      for (const spend of running) spend(ms);
    },
  };
}

test('A sign-in that asks often waits: it has twenty requests a second after the first eighty.', async () => {
  const clock = testClock();
  const limits = new CallerLimits(clock);
  for (let asked = 0; asked < 81; asked++) (await limits.request())[Symbol.dispose]();
  expect(clock.at).toBe(0);
  for (let asked = 0; asked < 40; asked++) (await limits.request())[Symbol.dispose]();
  expect(clock.at).toBe(2000);
});

test('A sign-in whose requests are much work waits until it has used no more than a fifth of the time.', async () => {
  const clock = testClock();
  const limits = new CallerLimits(clock);
  for (let asked = 0; asked < 20; asked++) {
    using _place = await limits.request();
    clock.work(200);
  }
  // 4,000 ms of work, of which 2,000 may come at once.
  using _next = await limits.request();
  expect(clock.at).toBe(10_000);
});

test('Four requests of a sign-in run at once, twelve wait in order, and more are refused after a while.', async () => {
  const clock = testClock();
  const limits = new CallerLimits(clock);
  const begun: number[] = [];
  const places: Disposable[] = [];
  const asked = Array.from({ length: 16 }, async (_, index) => {
    places.push(await limits.request());
    begun.push(index);
  });
  await expect(limits.request()).rejects.toThrow('16 things at once');
  expect(clock.at).toBe(500);
  await asked[3];
  expect(begun).toEqual([0, 1, 2, 3]);
  for (let ended = 0; ended < 12; ended++) {
    places[ended]![Symbol.dispose]();
    await asked[ended + 4];
    expect(begun).toHaveLength(ended + 5);
  }
  expect(begun).toEqual(asked.map((_, index) => index));
  expect(async () => (await limits.request())[Symbol.dispose]()).not.toThrow();
});

test('A sign-in has eight streams at once, and each that ends makes room.', () => {
  const limits = new CallerLimits(testClock());
  const streams = Array.from({ length: 8 }, () => limits.stream());
  expect(() => limits.stream()).toThrow('8 open pages');
  streams[0]![Symbol.dispose]();
  expect(() => limits.stream()).not.toThrow();
});
