import { expect, it } from 'vitest';
import { redactor, withoutCutSecret } from './config-redaction.ts';

it('takes environment values of a stdio server out of a text', () => {
  const redact = redactor({ type: 'stdio', command: 'x', env: { KEY: 'sekret-1', LEVEL: 'info' } });
  expect(redact('bad key sekret-1 at info')).toBe('bad key [redacted] at info');
});

it('takes headers and the URL of an HTTP server out of a text', () => {
  const url = 'https://user:passw0rd@host.example/mcp?key=abcdef12';
  const redact = redactor({ type: 'http', url, headers: { authorization: 'Bearer tok-12345' } });
  expect(redact('tok-12345 passw0rd abcdef12 host.example')).toBe(
    '[redacted] [redacted] [redacted] host.example',
  );
  expect(redact(`at ${url}`)).toBe('at [redacted]');
});

it('takes the secrets of a sign-in out of a text, however they are written', () => {
  const clientSecret = 'se cret/+1';
  const redact = redactor({
    type: 'http',
    url: 'https://host.example/mcp',
    auth: {
      type: 'token_exchange',
      clientId: 'me',
      clientSecret,
      subjectToken: 'subject-1',
      audience: 'audience-1',
    },
  });
  const basic = Buffer.from(`me:${encodeURIComponent(clientSecret)}`).toString('base64');
  const plain = Buffer.from(`me:${clientSecret}`).toString('base64');
  for (const form of [
    clientSecret,
    encodeURIComponent(clientSecret),
    'se+cret%2F%2B1',
    basic,
    plain,
    'subject-1',
  ]) {
    expect(redact(`it is ${form}!`)).toBe('it is [redacted]!');
  }
  expect(redact('me at audience-1')).toBe('me at audience-1');
  const fixed = redactor({
    type: 'http',
    url: 'https://h.example',
    auth: { type: 'bearer', token: 'tok-12345' },
  });
  expect(fixed('Bearer tok-12345')).toBe('Bearer [redacted]');
});

it('takes both parts of basic credentials out of a text, from a header or a URL', () => {
  const basic = Buffer.from('someone:passw0rd').toString('base64');
  const byHeader = redactor({
    type: 'http',
    url: 'https://h.example',
    headers: { authorization: `Basic ${basic}` },
  });
  expect(byHeader(`${basic} passw0rd`)).toBe('[redacted] [redacted]');
  const byUrl = redactor({ type: 'http', url: 'https://someone:pass%20word@h.example/' });
  const decoded = Buffer.from('someone:pass word').toString('base64');
  expect(byUrl(`pass word, pass%20word, ${decoded}`)).toBe('[redacted], [redacted], [redacted]');
});

it('takes a value out as JSON writes it, line breaks and quotes escaped', () => {
  const key = '-----BEGIN "KEY"-----\nabcdef\n-----END-----';
  const redact = redactor({ type: 'stdio', command: 'x', env: { KEY: key } });
  expect(redact(JSON.stringify({ key }))).toBe('{"key":"[redacted]"}');
});

it('leaves out the end of a secret at the beginning of a text that was cut there, however little of it', () => {
  const config = { type: 'stdio' as const, command: 'x', env: { KEY: 'sekret-1', OTHER: 'another-one' } };
  expect(withoutCutSecret('ekret-1 and more', config)).toBe(' and more');
  expect(withoutCutSecret('1 and more', config)).toBe(' and more');
  expect(withoutCutSecret('her-one sekret-1', config)).toBe(' sekret-1');
  expect(withoutCutSecret('no part of it', config)).toBe('no part of it');
});
