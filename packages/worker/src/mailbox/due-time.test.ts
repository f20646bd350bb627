import { expect, test } from 'vitest';
import { waitOf } from './due-time.ts';

const now = Date.UTC(2026, 11, 1, 8);

test('a message is handed out after a time, at an instant, or now', () => {
  expect(waitOf({ in: '90m' }, now)).toBe(5_400_000);
  expect(waitOf({ not_before: '2026-12-01T09:00:01+00:00' }, now)).toBe(3_601_000);
  expect(waitOf({}, now)).toBeUndefined();
});

test.each([
  ['two times', { in: '1h', not_before: '2026-12-02T09:00:00Z' }, /'in' and 'not_before'/],
  ['no unit', { in: '90' }, /'in' must be a number and/],
  ['no zone', { not_before: '2026-12-01T09:00:00' }, /'not_before' must be a date, a time and a zone/],
  [
    'the past',
    { not_before: '2026-12-01T08:00:00Z' },
    /'not_before' is over: it is 2026-12-01T08:00:00.000Z/,
  ],
])('%s is refused by the name of the argument', (_, given, message) => {
  expect(() => waitOf(given, now)).toThrow(message);
});
