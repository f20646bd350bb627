import { expect, it, test } from 'vitest';
import type { McpServerConfig } from './server-config.ts';
import { judgeServer, resultRedactor, textRedactor, withoutCutSecret } from './server-secrets.ts';

const stdio = (rest: Partial<Extract<McpServerConfig, { type: 'stdio' }>>): McpServerConfig => ({
  ...{ type: 'stdio', command: 'x' },
  ...rest,
});

/** Returns what is left of texts in errors and in results, which must be the same. */
function shown(config: McpServerConfig, texts: string[]): string[] {
  const inErrors = texts.map(textRedactor(config));
  const inResults = resultRedactor(config, undefined)?.(texts) ?? texts;
  expect(inResults).toEqual(inErrors);
  return inErrors;
}

it('takes the same values out of errors and results: those that are secrets by reference, name, form or mark, and no other', () => {
  const config = stdio({
    env: {
      API_KEY: 'sekret-1',
      K8S_NAMESPACE: 'default',
      ROOT: '/home/rosa/project',
      FROM_VARIABLE: 'ns-refer-1/x',
      HARMLESS_KEY: 'harmless-1',
      MODE: 'marked-1',
      DATABASE_URL: 'postgres://rosa-app:db%2Fpassw0rd@db.example/orders-table',
    },
    args: ['--token', 'argv-1', '--password=argv-2', '--header', 'Authorization: Bearer argv-3', '/srv/data'],
    secrets: { 'env.FROM_VARIABLE': ['refer-1'], 'env.HARMLESS_KEY': false, 'env.MODE': true },
  });
  expect(
    shown(config, [
      'sekret-1 default /home/rosa/project ns-refer-1/x harmless-1 marked-1',
      'postgres://rosa-app:db%2Fpassw0rd@db.example/orders-table rosa-app db/passw0rd',
      '--token argv-1 argv-2 as Bearer, argv-3 /srv/data',
    ]),
  ).toEqual([
    '[redacted] default /home/rosa/project ns-[redacted]/x harmless-1 [redacted]',
    'postgres://[redacted]@db.example/orders-table rosa-app [redacted]',
    '--token [redacted] [redacted] as Bearer, [redacted] /srv/data',
  ]);
  const reasons = judgeServer(config).map(({ place, reason }) => [place, reason]);
  expect(Object.fromEntries(reasons)).toMatchObject({
    'env.API_KEY': 'name',
    'env.K8S_NAMESPACE': undefined,
    'env.FROM_VARIABLE': 'reference',
    'env.HARMLESS_KEY': undefined,
    'env.MODE': 'marked',
    'env.DATABASE_URL': 'form',
    'args[1]': 'name',
    'args[5]': undefined,
  });
});

it('takes headers, credentials and the secrets of a URL out of a text, and leaves the address', () => {
  const basic = Buffer.from('someone:pass word').toString('base64');
  const config: McpServerConfig = {
    type: 'http',
    url: 'https://someone:pass%20word@host.example/mcp?key=abcdef12&mode=careful-mode',
    headers: { authorization: 'Bearer tok-12345', accept: 'application/json', cookie: 'sid=cookie-1' },
  };
  expect(
    shown(config, [
      `Bearer, tok-12345 pass word pass%20word ${basic}`,
      `at ${config.url}`,
      'application/json someone sid=cookie-1',
    ]),
  ).toEqual([
    'Bearer, [redacted] [redacted] [redacted] [redacted]',
    'at https://[redacted]@host.example/mcp?key=[redacted]&mode=careful-mode',
    'application/json someone [redacted]',
  ]);
  const header = Buffer.from('someone:passw0rd').toString('base64');
  const byHeader: McpServerConfig = {
    ...{ type: 'http', url: 'https://h.example', headers: { authorization: `Basic ${header}` } },
  };
  expect(shown(byHeader, [`Basic: ${header} passw0rd`])).toEqual(['Basic: [redacted] [redacted]']);
});

it('takes the secrets of a sign-in out of a text, however they are written, and what a reference put into its other fields', () => {
  const clientSecret = 'se cret/+1';
  const config: McpServerConfig = {
    type: 'http',
    url: 'https://host.example/mcp',
    auth: {
      ...{ type: 'token_exchange', clientId: 'me', clientSecret },
      ...{ subjectToken: 'subject-1', audience: 'audience-1' },
    },
    secrets: { 'auth.audience': ['audience-1'] },
  };
  const basic = Buffer.from(`me:${encodeURIComponent(clientSecret)}`).toString('base64');
  const plain = Buffer.from(`me:${clientSecret}`).toString('base64');
  const forms = [
    clientSecret,
    encodeURIComponent(clientSecret),
    'se+cret%2F%2B1',
    basic,
    plain,
    'subject-1',
    'audience-1',
  ];
  expect(shown(config, forms)).toEqual(forms.map(() => '[redacted]'));
});

it('takes a value out as JSON writes it, line breaks and quotes escaped', () => {
  const key = '-----BEGIN "KEY"-----\nabcdef\n-----END-----';
  const redact = textRedactor(stdio({ env: { KEY: key } }));
  expect(redact(JSON.stringify({ key }))).toBe('{"key":"[redacted]"}');
});

it('leaves out the end of a secret at the beginning of a text that was cut there, however little of it', () => {
  const config = stdio({ env: { KEY: 'sekret-1', OTHER_KEY: 'another-one' } });
  expect(withoutCutSecret('1 and more', config)).toBe(' and more');
  expect(withoutCutSecret('her-one sekret-1', config)).toBe(' sekret-1');
  expect(withoutCutSecret('no part of it', config)).toBe('no part of it');
});

test('A server without secrets costs its results nothing, and nothing is copied that holds none.', () => {
  expect(resultRedactor(stdio({ env: { ROOT: '/home/rosa' } }), undefined)).toBeUndefined();
  const redact = resultRedactor(stdio({ env: { API_KEY: 'secret-12' } }), undefined);
  const result = { content: [{ type: 'text', text: 'ordinary' }], isError: false };
  expect(redact?.(result)).toBe(result);
});
