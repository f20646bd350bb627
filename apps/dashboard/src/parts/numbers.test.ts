import { expect, test } from 'vitest';
import { age, bytes, counted, duration, figure, timeLeft } from './numbers.ts';

test('Durations have one unit, and an age without a time is unknown.', () => {
  const texts = [0, 999, 1000, 119_000, 120_000, 7_199_000, 7_200_000, 172_800_000].map(duration);
  expect(texts).toEqual(['0 ms', '999 ms', '1 s', '2 min', '2 min', '2 h', '2 h', '2 d']);
  expect([age(undefined, 5), age(5000, 5500), age(0, 5000)]).toEqual(['unknown', 'now', '5 s']);
});

test('Numbers that nobody knows are unknown and not nothing.', () => {
  expect([figure(0), figure(null), figure(undefined), figure(1234)]).toEqual([
    '0',
    'unknown',
    'unknown',
    '1,234',
  ]);
  expect([counted(1, 'call'), counted(0, 'call')]).toEqual(['1 call', '0 calls']);
  expect([bytes(0), bytes(1536), bytes(3 * 1024 ** 3)]).toEqual(['0 B', '1.5 KiB', '3.0 GiB']);
});

test('The time that is left runs in seconds at its end.', () => {
  expect([0, -5, 1, 59_001, 60_001, 600_000, 600_001, 3_600_000].map(timeLeft)).toEqual([
    ...['0:00', '0:00', '0:01', '1:00', '1:01', '10:00', '10 min', '60 min'],
  ]);
});
