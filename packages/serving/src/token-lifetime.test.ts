import { expect, test } from 'vitest';
import { endsSoon } from './token-lifetime.ts';

const hour = 3_600_000;
const day = 24 * hour;

test.each([
  ['a month', 30 * day, 3 * day],
  ['a year', 365 * day, 3 * day],
  ['a working day', 8 * hour, 0.8 * hour],
])('A token of %s ends soon in the last tenth of its life, and within three days.', (_, lifeMs, nearMs) => {
  const token = { created_at: 1000, expires_at: 1000 + lifeMs };
  expect(endsSoon(token, token.expires_at - nearMs - 1)).toBe(false);
  expect(endsSoon(token, token.expires_at - nearMs)).toBe(true);
  expect(endsSoon(token, token.expires_at + day)).toBe(true);
});

test('A token without an end never ends soon.', () => {
  expect(endsSoon({ created_at: 0 }, 1000 * day)).toBe(false);
});
