import { expect, it } from 'vitest';
import { resultRedactor } from './result-redaction.ts';

it('takes out of results what is a secret by its name or place, and leaves folders and modes', () => {
  const stdio = resultRedactor(
    { type: 'stdio', command: 'x', env: { GITHUB_TOKEN: 'ghp_12345678', ROOT: '/home/rosa/project' } },
    undefined,
  );
  expect(stdio?.({ text: 'ghp_12345678 in /home/rosa/project' })).toEqual({
    text: '[redacted] in /home/rosa/project',
  });
  const http = resultRedactor(
    {
      type: 'http',
      url: 'https://somebody:pass%20word@h.example/?api_key=abcdef12&mode=careful-mode',
      headers: { authorization: 'Bearer tok-12345', accept: 'application/json' },
    },
    undefined,
  );
  expect(
    http?.(['Bearer x', 'tok-12345 pass word abcdef12', 'application/json careful-mode somebody']),
  ).toEqual(['Bearer x', '[redacted] [redacted] [redacted]', 'application/json careful-mode somebody']);
});

it('knows the secrets of common variables: a password in a URL, and names that end in the word without a separator', () => {
  const env = {
    DATABASE_URL: 'postgres://rosa-app:db%2Fpassw0rd@db.example/orders-table',
    PGPASSWORD: 'pg-password',
    GITHUB_PAT: 'ghp_12345678',
    githubToken: 'camel-token',
    KEYBOARD: 'ordinary-1',
    BYPASS: 'ordinary-2',
  };
  const redact = resultRedactor({ type: 'stdio', command: 'x', env }, undefined);
  expect(redact?.(Object.values(env))).toEqual([
    'postgres://rosa-app:[redacted]@db.example/orders-table',
    '[redacted]',
    '[redacted]',
    '[redacted]',
    'ordinary-1',
    'ordinary-2',
  ]);
  expect(redact?.(['db/passw0rd'])).toEqual(['[redacted]']);
});

it('costs nothing without a secret, and copies nothing that holds none', () => {
  expect(
    resultRedactor({ type: 'stdio', command: 'x', env: { ROOT: '/home/rosa' } }, undefined),
  ).toBeUndefined();
  const redact = resultRedactor({ type: 'stdio', command: 'x', env: { API_KEY: 'secret-12' } }, undefined);
  const result = { content: [{ type: 'text', text: 'ordinary' }], isError: false };
  expect(redact?.(result)).toBe(result);
});
