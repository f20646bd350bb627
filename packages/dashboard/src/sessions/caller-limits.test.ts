import { expect, test } from 'vitest';
import { CallerLimits } from './caller-limits.ts';

test('A session that asks too often is refused until time has passed.', () => {
  let now = 0;
  const limits = new CallerLimits(() => now);
  for (let asked = 0; asked < 80; asked++) limits.request()[Symbol.dispose]();
  expect(() => limits.request()).toThrow('20 times a second');
  now += 50;
  expect(() => limits.request()[Symbol.dispose]()).not.toThrow();
  expect(() => limits.request()).toThrow('20 times a second');
});

test('A session has sixteen requests and eight streams at once, and each that ends makes room.', () => {
  const limits = new CallerLimits(() => 0);
  const requests = Array.from({ length: 16 }, () => limits.request());
  expect(() => limits.request()).toThrow('16 things at once');
  requests[0]![Symbol.dispose]();
  expect(() => limits.request()).not.toThrow();
  const streams = Array.from({ length: 8 }, () => limits.stream());
  expect(() => limits.stream()).toThrow('8 open pages');
  streams[0]![Symbol.dispose]();
  expect(() => limits.stream()).not.toThrow();
});
