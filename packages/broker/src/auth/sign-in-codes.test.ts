import { expect, test } from 'vitest';
import { SignInCodes, signInCodeMs } from './sign-in-codes.ts';

test('A code is good once, and for a minute.', () => {
  let now = 0;
  const codes = new SignInCodes(() => now);
  const [first, second] = [codes.issue({ id: 'a' }), codes.issue({ id: 'b' })];
  now += signInCodeMs - 1;
  expect([codes.take(first), codes.take(first)]).toEqual(['a', undefined]);
  now += 1;
  expect(codes.take(second)).toBeUndefined();
});

test('Of too many codes the oldest is forgotten.', () => {
  const codes = new SignInCodes(() => 0);
  const made = Array.from({ length: 257 }, (_, index) => codes.issue({ id: String(index) }));
  expect(codes.take(made[0]!)).toBeUndefined();
  expect(codes.take(made[1]!)).toBe('1');
});
