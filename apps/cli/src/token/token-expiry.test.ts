import { expect, test } from 'vitest';
import { expiryText, expiryWarning } from './token-expiry.ts';

const day = 24 * 3_600_000;
const rosa = { agent: 'rosa', role: 'researcher', created_at: 0, expires_at: 30 * day };

test('A token near its end or after it is warned about, with the command that writes a new one over it.', () => {
  expect(expiryWarning(rosa, 26 * day)).toBe(undefined);
  expect(expiryWarning(rosa, 28 * day, 'my tokens/rosa')).toBe(
    "the token of rosa expires in 2 d (1970-01-31T00:00:00.000Z); renew it with: signalbox token issue --agent rosa --role researcher --out 'my tokens/rosa' --force",
  );
  expect(expiryWarning(rosa, 35 * day)).toContain('the token of rosa expired 5 d ago (1970-01-31');
});

test('The token of an identity provider is renewed there, and goes into the same file.', () => {
  const issued = { ...rosa, issuer: 'https://login.example.com' };
  expect(expiryWarning(issued, 26 * day, 'rosa.jwt')).toBe(undefined);
  expect(expiryWarning(issued, 28 * day, 'rosa.jwt')).toBe(
    'the token of rosa expires in 2 d (1970-01-31T00:00:00.000Z); https://login.example.com issues these tokens, not signalbox: get the next one there, and put it into rosa.jwt',
  );
});

test('A table shows when a token expires, when it expired, or that it never does.', () => {
  expect(expiryText(rosa, 20 * day)).toBe('in 10 d');
  expect(expiryText(rosa, 31 * day)).toBe('24 h ago');
  expect(expiryText({}, 0)).toBe('never');
});
