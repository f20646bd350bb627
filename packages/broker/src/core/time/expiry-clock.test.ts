import { type ExpiryTime, hasExpired } from '@signalbox/store';
import { expect, it } from 'vitest';
import { ExpiryClock } from './expiry-clock.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Makes two clocks that move only by hand. */
function handClock() {
  let now = 1_800_000_000_000;
  let monotonic = 1000.5;
  return {
    now: () => now,
    monotonic: () => monotonic,
    advance(ms: number) {
      now += ms;
      monotonic += ms;
    },
    /** Steps only the wall clock. */
    step(ms: number) {
      now += ms;
    },
  };
}

/** Returns the time that the last broker had reached. */
function reached(...times: number[]): ExpiryTime {
  return { times, earliest: times[0]!, latest: times.at(-1)! };
}

function opened(reached?: ExpiryTime) {
  const clock = handClock();
  const events: string[] = [];
  const expiry = new ExpiryClock({
    ...clock,
    reached,
    onLeap: ({ from, to }) => events.push(`leap of ${(to - from) / minute} min`),
    onHoldEnd: (end) => events.push(end),
  });
  const sent = (ttlMs: number) => ({ createdAt: clock.now(), expiresAt: clock.now() + ttlMs });
  const isOver = (message: { createdAt: number; expiresAt: number }) => hasExpired(message, expiry.look());
  return { clock, events, expiry, sent, isOver };
}

it('is the wall clock while that runs evenly, or is stepped by little', () => {
  const { clock, expiry, events } = opened();
  for (const step of [0, 59_000, -500, 0]) {
    clock.advance(day);
    clock.step(step);
    expiry.look();
    expect(expiry.earliest).toBe(clock.now());
  }
  clock.advance(1000);
  expect(expiry.look()).toMatchObject({ earliest: clock.now(), latest: clock.now(), hold: undefined });
  expect(events).toEqual([]);
});

it('goes on as if there had been no leap for five minutes, and then trusts the wall clock', () => {
  const { clock, events, expiry, sent, isOver } = opened();
  const [brief, long] = [sent(2 * minute), sent(7 * day)];
  clock.step(8 * day);
  expect([isOver(brief), isOver(long)]).toEqual([false, false]);
  const after = sent(minute);
  expect([brief, long, after].map(({ expiresAt }) => expiry.isInLeap(expiresAt))).toEqual([
    true,
    true,
    false,
  ]);
  clock.advance(minute);
  expect(isOver(after)).toBe(true);
  expect(isOver(brief)).toBe(false);
  clock.advance(minute);
  expect(isOver(brief)).toBe(true);
  clock.advance(3 * minute - 1);
  expect(isOver(long)).toBe(false);
  clock.advance(1);
  expect(isOver(long)).toBe(true);
  expect(expiry.isInLeap(long.expiresAt)).toBe(false);
  expect(events).toEqual(['leap of 11520 min', 'waited']);
});

it('trusts the wall clock at once when that is accepted', () => {
  const { clock, events, expiry, sent, isOver } = opened();
  const long = sent(7 * day);
  expect(expiry.accept()).toBeUndefined();
  clock.step(8 * day);
  expect(expiry.accept()).toMatchObject({ to: clock.now() });
  expect(isOver(long)).toBe(true);
  expect(events).toEqual(['leap of 11520 min', 'accepted']);
});

it('ends the hold when the leap is undone; what was sent meanwhile keeps its lifetime', () => {
  const { clock, events, expiry, sent, isOver } = opened();
  const before = sent(7 * day);
  clock.step(8 * day);
  expiry.look();
  const meanwhile = sent(minute);
  clock.step(-8 * day);
  expiry.look();
  expect(expiry.isInLeap(before.expiresAt)).toBe(false);
  clock.advance(minute - 1);
  expect(isOver(meanwhile)).toBe(false);
  clock.advance(1);
  expect(isOver(meanwhile)).toBe(true);
  clock.advance(hour);
  expect(isOver(before)).toBe(false);
  expect(events).toEqual(['leap of 11520 min', 'set_back']);
});

it('expires nothing too early that was sent between the steps of a clock that jumps about', () => {
  const { clock, sent, isOver } = opened();
  const messages: { createdAt: number; expiresAt: number }[] = [];
  for (const step of [-hour, hour, -10_000, 8 * day, -7 * day, -day, hour, -2 * hour]) {
    clock.step(step);
    messages.push(sent(10_000), sent(hour / 2));
    expect(messages.filter(isOver), `${step}`).toEqual([]);
    clock.advance(100);
  }
  clock.advance(10_000 - 900);
  expect(messages.filter(isOver)).toEqual([]);
  for (let passed = 0; passed <= 2 * hour; passed += minute) {
    clock.advance(minute);
    const over = messages.filter(isOver);
    for (const message of over) messages.splice(messages.indexOf(message), 1);
  }
  expect(messages).toEqual([]);
});

it('begins the five minutes again at a second leap', () => {
  const { clock, expiry, sent, isOver } = opened();
  const message = sent(hour);
  clock.step(8 * day);
  expiry.look();
  clock.advance(4 * minute);
  clock.step(day);
  expiry.look();
  clock.advance(4 * minute);
  expect(isOver(message)).toBe(false);
  clock.advance(minute);
  expect(isOver(message)).toBe(true);
});

it.each([minute, 30 * minute, 10 * hour])(
  'lets a message wait one lifetime more at most after a step back: %i',
  (ttlMs) => {
    const { clock, expiry, sent, isOver } = opened();
    const before = sent(ttlMs);
    clock.step(-hour);
    expiry.look();
    const after = sent(ttlMs);
    clock.advance(ttlMs - 1);
    expect([isOver(before), isOver(after)]).toEqual([false, false]);
    clock.advance(1);
    expect(isOver(after)).toBe(true);
    if (ttlMs > hour) {
      expect(isOver(before)).toBe(false);
      clock.advance(hour);
    }
    expect(isOver(before)).toBe(true);
  },
);

it('counts a time without a broker as a leap, also when it ended during a hold', () => {
  const { now } = handClock();
  expect(opened(reached(now() - minute)).events).toEqual([]);
  const { events, expiry, clock, isOver } = opened(reached(now() - 8 * day, now() - 1000));
  expect(events).toEqual(['leap of 11520 min']);
  const message = { createdAt: now() - 9 * day, expiresAt: now() - 2 * day };
  expect(isOver(message)).toBe(false);
  expect(expiry.isInLeap(message.expiresAt)).toBe(true);
  clock.advance(5 * minute);
  expect(isOver(message)).toBe(true);
});

it('remembers over a restart how far the clock was ahead before it was set back', () => {
  const { now } = handClock();
  const { clock, isOver } = opened(reached(now(), now() + 8 * day));
  const message = { createdAt: now() + 8 * day - 1000, expiresAt: now() + 8 * day + minute };
  clock.advance(minute - 1);
  expect(isOver(message)).toBe(false);
  clock.advance(1);
  expect(isOver(message)).toBe(true);
});
