import { expect, it } from 'vitest';
import { withTexts } from './json-texts.ts';
import { redactorOf, withoutCutSecret } from './redact.ts';

it('takes a value out as JSON writes it, line breaks and quotes escaped', () => {
  const key = '-----BEGIN "KEY"-----\nabcdef\n-----END-----';
  expect(redactorOf([key])(JSON.stringify({ key }))).toBe('{"key":"[redacted]"}');
});

it('leaves values alone that are too short to be secrets', () => {
  expect(redactorOf(['info', 'sekret-1'])('sekret-1 at info')).toBe('[redacted] at info');
  expect(redactorOf(['info'], { shortest: 4 })('at info')).toBe('at [redacted]');
});

it('leaves out the end of a secret at the beginning of a text that was cut there, however little of it', () => {
  const secrets = ['sekret-1', 'another-one'];
  expect(withoutCutSecret('ekret-1 and more', secrets)).toBe(' and more');
  expect(withoutCutSecret('1 and more', secrets)).toBe(' and more');
  expect(withoutCutSecret('her-one sekret-1', secrets)).toBe(' sekret-1');
  expect(withoutCutSecret('no part of it', secrets)).toBe('no part of it');
});

it('takes a value out no matter which of its characters are escaped, in JSON, in JSON as a text of JSON, and in URLs', () => {
  const secret = 'k/ey&"1\\é';
  const redact = redactorOf([secret]);
  const spelled = JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/').replace('&', '\\u0026');
  for (const text of [
    spelled,
    JSON.stringify(spelled).slice(1, -1),
    spelled.replace('k', '\\u006B').replace('é', '\\u00E9'),
    'k%2fey%26%221%5c%c3%a9',
    'k/ey%26%221%5C%C3%A9',
    'k%252Fey%2526%25221%255C%25C3%25A9',
  ]) {
    expect(redact(`a${text}b`)).toBe('a[redacted]b');
  }
  expect(redact('k%2fe and k\\/e')).toBe('k%2fe and k\\/e');
});

it('takes out long values and many of them, also where their neighbours could be read as a part of an escape', () => {
  const long = `k/${'x1é"'.repeat(3000)}`;
  const many = Array.from({ length: 400 }, (_, n) => `secret/${n}/${'y'.repeat(40)}`);
  const redact = redactorOf([long, ...many]);
  const written = JSON.stringify(long).slice(1, -1).replaceAll('/', '\\/');
  expect(redact(`a ${written} b`)).toBe('a [redacted] b');
  expect(redact(`100 % of ${many[399]!.replaceAll('/', '%2F')}!`)).toBe('100 % of [redacted]!');
  const name = redactorOf(['name/of-secret', 'abcdef/of-secret', 'C:\\secret\\']);
  expect(name('C:\\\\name\\/of-secret')).toBe('C:\\\\[redacted]');
  expect(name('100%25abcdef%2Fof-secret')).toBe('100%25[redacted]');
  expect(name('"C:\\\\secret\\\\new"')).toContain('[redacted]');
  expect(name('"C:\\\\secret\\\\new"')).not.toContain('secret');
});

it('searches a text full of escapes in a time that grows with its length only', () => {
  const redact = redactorOf(['/"a secret"/', '\\\\domain\\user']);
  const text = `${'\\'.repeat(200_000)}${'%2'.repeat(100_000)}`;
  expect(redact(text)).toBe(text);
});

it('neither exhausts the stack nor leaves a secret in data that nests without end', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(20_000)}"sekret-1"${']'.repeat(20_000)}`);
  const text = JSON.stringify(withTexts(deep, redactorOf(['sekret-1'])));
  expect(text).toBe(`${'['.repeat(1000)}null${']'.repeat(1000)}`);
});

it('hides no field behind another one whose name becomes the same', () => {
  const data = { 'sekret-1': 'a', '[redacted]': 'b', 'sekret-2': 'c' };
  const clean = withTexts(data, redactorOf(['sekret-1', 'sekret-2']));
  expect(clean).toEqual({ '[redacted]': 'a', '[redacted] 2': 'b', '[redacted] 3': 'c' });
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`${n}sekret-1`, n]));
  const same = withTexts(many, () => 'x');
  expect(Object.keys(same)).toHaveLength(20_000);
});
