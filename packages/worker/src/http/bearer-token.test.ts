import { tokenText } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { bearerToken, invalidToken } from './bearer-token.ts';

const token = tokenText('rosa', 'a'.repeat(43));

test('a token is read with the agent that its text names', () => {
  expect(bearerToken(`Bearer ${token}`)).toEqual({ token, agent: 'rosa' });
  expect(bearerToken(`bEARER   ${token} `)).toEqual({ token, agent: 'rosa' });
});

test('no token is asked for, and what cannot be one is refused without its text in the answer', () => {
  const asked = bearerToken(undefined);
  expect(asked).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer realm="signalbox"' } });
  const minting = tokenText('ci-*', 'b'.repeat(43));
  for (const text of ['', 'Bearer', `Basic ${token}`, `Bearer ${token}x`, `Bearer ${minting}`, token]) {
    const refused = bearerToken(text);
    expect(refused, text).toMatchObject({ status: 401 });
    expect(JSON.stringify(refused)).not.toContain('aaaa');
  }
});

test('a reason stays within its quotes', () => {
  expect(invalidToken('a "quoted" \\ reason').headers).toEqual({
    'www-authenticate':
      'Bearer realm="signalbox", error="invalid_token", error_description="a \'quoted\' \' reason"',
  });
});
