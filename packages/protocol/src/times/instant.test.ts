import { expect, test } from 'vitest';
import { parseInstant } from './instant.ts';

test('An instant is a date with a time and a zone.', () => {
  const same = ['2026-12-01T09:00+01:00', '2026-12-01T08:00Z', '2026-12-01 08:00:00.000Z'];
  expect(same.map((text) => parseInstant(text, { needsZone: true }))).toEqual(
    Array(3).fill(Date.UTC(2026, 11, 1, 8)),
  );
});

test('Without a zone it is of this machine’s, unless the zone is needed.', () => {
  expect(parseInstant('2026-12-01T08:00')).toBe(new Date(2026, 11, 1, 8).getTime());
  expect(parseInstant('2026-12-01T08:00', { needsZone: true })).toBeUndefined();
});

test('Anything else is not an instant, nor is a day that its month does not have.', () => {
  const others = [
    '',
    'tomorrow',
    '2026-12-01',
    '09:00',
    '2026-02-30T08:00Z',
    '2026-13-01T08:00Z',
    '2026-12-01T25:00Z',
  ];
  expect(others.map((text) => parseInstant(text))).toEqual(Array(7).fill(undefined));
});
