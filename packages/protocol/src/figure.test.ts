import { expect, it } from 'vitest';
import { figure } from './figure.ts';

it('writes numbers as the locale en-US does', () => {
  for (const value of [
    0,
    7,
    999,
    1000,
    4096,
    65_536,
    1_000_000,
    Number.MAX_SAFE_INTEGER,
    -1,
    -1000,
    -123_456,
    0.25,
    1234.56,
    1234567.125,
  ])
    expect(figure(value)).toBe(value.toLocaleString('en-US'));
});
