import { expect, it } from 'vitest';
import { redactor } from './redaction.ts';

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
