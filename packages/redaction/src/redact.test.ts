import { expect, it } from 'vitest';
import { redactorOf, withoutCutSecret } from './redact.ts';

it('takes a value out as JSON writes it, line breaks and quotes escaped', () => {
  const key = '-----BEGIN "KEY"-----\nabcdef\n-----END-----';
  expect(redactorOf([key])(JSON.stringify({ key }))).toBe('{"key":"[redacted]"}');
});

it('leaves values alone that are too short to be secrets', () => {
  expect(redactorOf(['info', 'sekret-1'])('sekret-1 at info')).toBe('[redacted] at info');
  expect(redactorOf(['info'], 4)('at info')).toBe('at [redacted]');
});

it('leaves out the end of a secret at the beginning of a text that was cut there, however little of it', () => {
  const secrets = ['sekret-1', 'another-one'];
  expect(withoutCutSecret('ekret-1 and more', secrets)).toBe(' and more');
  expect(withoutCutSecret('1 and more', secrets)).toBe(' and more');
  expect(withoutCutSecret('her-one sekret-1', secrets)).toBe(' sekret-1');
  expect(withoutCutSecret('nothing of it', secrets)).toBe('nothing of it');
});
