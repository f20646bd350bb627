import { expect, it, test } from 'vitest';
import { isSecretName } from './secret-name.ts';
import {
  bodyWithoutSecrets,
  judgeValue,
  secretsByForm,
  shownExcerpt,
  withoutSecretForms,
  withoutSecrets,
} from './secret-rule.ts';

const plain = (text: string) => judgeValue({ text, hasSecretName: false });

test.each([
  'default',
  '/home/rosa',
  'https://h.example/?mode=m',
  'ssh://rosa@docker.example',
  'node:20@sha256:abcdef',
])('a literal without a mark, a secret name or a secret form is shown: %s', (text) => {
  expect(plain(text)).toEqual({ reason: undefined, secrets: [], isMarked: false });
  expect(withoutSecretForms(text)).toBe(text);
});

test.each([
  ['ghp_abcdefghij0123456789ABCDEFGHIJ012345'],
  ['github_pat_11ABCDEFG0123456789_abcdefgh'],
  ['glpat-abcdefghij0123456789'],
  ['AKIAIOSFODNN7EXAMPLE'],
  ['xoxb-123456789012-abcdefghij'],
  ['sk-ant-api03-abcdefghij0123456789'],
  ['sk_live_abcdefghij0123'],
  ['AIzaSyA0123456789abcdefghijklmnopqrstuv'],
  ['npm_abcdefghij0123456789abcdefghij012345'],
  ['hf_abcdefghij0123456789abcdefghij'],
  ['sbx_rosa~abcdefghij0123456789abcdefghij0123456789abc'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyb3NhIn0.c2lnbmF0dXJl'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----'],
  ['-----BEGIN PRIVATE KEY-----\nMIIE'],
])('a credential of a well-known form is a secret in any text: %s', (secret) => {
  expect(secretsByForm(`it is ${secret}`)).toEqual([secret]);
  expect(withoutSecretForms(`${secret}`)).toBe('[redacted]');
  expect(plain(secret)).toMatchObject({ reason: 'form', secrets: [secret] });
});

test.each([
  ['postgres://rosa-app:db%2Fpassw0rd@db.example/orders', 'postgres://[redacted]@db.example/orders'],
  ['postgres://rosa:p#ss/word@db.example/orders', 'postgres://[redacted]@db.example/orders'],
  ['https://token-12345@pypi.example/simple', 'https://[redacted]@pypi.example/simple'],
  [
    'a http://u:p@h.example b https://h.example/?api_key=k&mode=m',
    'a http://[redacted]@h.example b https://h.example/?api_key=[redacted]&mode=m',
  ],
  ['rosa:passw0rd@proxy.example:3128', '[redacted]@proxy.example:3128'],
])('the user part of a URL and its named secrets are secrets: %s', (text, shown) => {
  expect(withoutSecretForms(text)).toBe(shown);
});

it('takes a password for a secret also alone and decoded, and the user name beside it only together with it', () => {
  const { secrets } = plain('postgres://rosa-app:db%2Fpassw0rd@db.example/orders');
  expect(secrets).toEqual(expect.arrayContaining(['db/passw0rd', 'db%2Fpassw0rd', 'rosa-app:db/passw0rd']));
  expect(secrets).not.toContain('rosa-app');
});

it('follows the mark of the owner in both directions, and the reference, whatever the name says', () => {
  const named = { text: 'Bearer tok-123456', hasSecretName: true, isHeader: true };
  expect(judgeValue(named)).toMatchObject({ reason: 'name', secrets: ['Bearer tok-123456', 'tok-123456'] });
  expect(judgeValue(named, false)).toEqual({ reason: undefined, secrets: [], isMarked: true });
  expect(judgeValue({ text: 'plain', hasSecretName: false }, true)).toMatchObject({
    reason: 'marked',
    secrets: ['plain'],
  });
  expect(judgeValue({ text: 'ns-default/x', hasSecretName: false }, ['default'])).toMatchObject({
    reason: 'reference',
    secrets: ['default'],
  });
});

it('finds a secret by name in lists and objects, a long number too, and leaves short numbers and other names', () => {
  const data = {
    api_key: ['k-1', { old: 'k-2', pin: 12345678 }],
    max_tokens: 4096,
    path: ['/a'],
    keyboard: 'x',
  };
  expect(withoutSecrets(data)).toEqual({
    api_key: ['[redacted]', { old: '[redacted]', pin: '[redacted]' }],
    max_tokens: 4096,
    path: ['/a'],
    keyboard: 'x',
  });
});

it('knows the names of common secrets, also those that end in the word without a separator', () => {
  const names = [
    'API_KEY',
    'PGPASSWORD',
    'GITHUB_PAT',
    'githubToken',
    'x-key',
    'Authorization',
    'com.example/token',
  ];
  expect(names.filter((name) => !isSecretName(name))).toEqual([]);
  expect(['KEYBOARD', 'BYPASS', 'ROOT', 'K8S_NAMESPACE'].filter(isSecretName)).toEqual([]);
});

it('searches long texts in a time that grows with their length only', () => {
  const texts = [
    '-----BEGIN PRIVATE KEY-----',
    'http://a:',
    'http://u:p@h ',
    'eyJabcdefgh.',
    'sbx_',
    'ghp_abc ',
  ].map((part) => part.repeat(20_000));
  for (const text of texts) expect(withoutSecretForms(text)).toBeDefined();
}, 5000);

const made = `ghp_${'a1B2c3D4e5'.repeat(4)}`;

it.each([
  ['in a text', JSON.stringify(`a ${made}`), '"a [redacted]"'],
  ['after a line break', JSON.stringify(`a\n${made}`), '"a\\n[redacted]"'],
  ['after a colour', JSON.stringify(`\u001b[31m${made}`), '"\\u001b[31m[redacted]"'],
  [
    'in JSON in a text',
    JSON.stringify({ text: JSON.stringify({ out: `a\n${made}` }) }),
    String.raw`{"text":"{\"out\":\"a\\n[redacted]\"}"}`,
  ],
  [
    'by its name in JSON in a text',
    JSON.stringify('{"password":"hunter22222"}'),
    String.raw`"{\"password\":\"[redacted]\"}"`,
  ],
  ['in what is no JSON', `{ "a\\n${made}`, '{ "a\\n[redacted]'],
  [
    'nowhere',
    '{"a":"{ \\"b\\": 1.0 }","n":12345678901234567890}',
    '{"a":"{ \\"b\\": 1.0 }","n":12345678901234567890}',
  ],
])('A body is shown without a secret %s.', (_, body, shown) => {
  expect(bodyWithoutSecrets(body)).toBe(shown);
});

it.each([150, 199, 300, 470])(
  'No part of a credential is shown that an excerpt cuts, if it begins at %i.',
  (at) => {
    const excerpt = `${'x'.repeat(at - 1)} ${made}`.slice(0, 500);
    expect(shownExcerpt(excerpt)).not.toContain('ghp_');
  },
);
