import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { joinToken, splitToken } from './split-token.ts';

test('Both parts together are the token, and neither part alone holds a letter of it in its place.', () => {
  const token = 'sbx_operator_abcdefghijklmnop';
  const parts = splitToken(token, randomBytes);
  expect(joinToken(parts)).toBe(token);
  const zeros = splitToken(token, (bytes) => Buffer.alloc(bytes));
  expect(Buffer.from(zeros.cookie, 'base64url').equals(Buffer.alloc(token.length))).toBe(true);
});

test('Parts of two sign-ins give no token, at any lengths.', () => {
  const [one, other] = ['sbx_a_1234', 'sbx_b_5678'].map((token) => splitToken(token, randomBytes));
  expect(['sbx_a_1234', 'sbx_b_5678']).not.toContain(joinToken({ cookie: one!.cookie, key: other!.key }));
  expect(joinToken({ cookie: one!.cookie, key: 'AAAA' })).toBe('');
});
