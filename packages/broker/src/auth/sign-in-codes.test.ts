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

test('A token that asks for many codes spoils its own, and those of no other token.', () => {
  const codes = new SignInCodes(() => 0);
  const ofOther = codes.issue({ id: 'other' });
  const many = Array.from({ length: 600 }, () => codes.issue({ id: 'greedy' }));
  expect(codes.take(ofOther)).toBe('other');
  expect(codes.take(many.at(-1)!)).toBe('greedy');
  expect(codes.take(many[0]!)).toBeUndefined();
});
