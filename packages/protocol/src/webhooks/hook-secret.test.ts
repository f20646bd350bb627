import { expect, test } from 'vitest';
import { type HookSignature, hookSecret } from './hook-secret.ts';

test.each<[HookSignature, string]>([
  ['github', 'x'.repeat(16)],
  ['github', 'Ünicode and spaces'],
  ['bearer', 'abcdefghijklmnop'],
  ['standard', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
])('A secret of %s can be %s.', (signature, secret) => {
  expect(hookSecret(signature, secret)).toHaveProperty('key');
});

test('The key of Standard Webhooks is what the base64 says, and that of the others is the text.', () => {
  const key = Buffer.alloc(24, 7);
  expect(hookSecret('standard', `whsec_${key.toString('base64')}`)).toEqual({ key });
  expect(hookSecret('github', 'abcdefghijklmnop')).toEqual({ key: Buffer.from('abcdefghijklmnop') });
});

test.each<[HookSignature, string, RegExp]>([
  ['github', 'x'.repeat(15), /16 bytes/],
  ['github', '', /16 bytes/],
  ['bearer', 'a secret with spaces in it', /without spaces/],
  ['bearer', 'short', /16 bytes/],
  ['standard', 'abcdefghijklmnopqrstuvwx', /whsec_/],
  ['standard', 'whsec_not*base64*not*base64', /whsec_/],
  ['standard', 'whsec_c2hvcnQ=', /16 bytes/],
])('A secret of %s that is %j is refused in words that do not hold it.', (signature, secret, problem) => {
  const judged = hookSecret(signature, secret);
  expect(judged).toEqual({ problem: expect.stringMatching(problem) });
  if (secret !== '') expect(JSON.stringify(judged)).not.toContain(secret);
});
