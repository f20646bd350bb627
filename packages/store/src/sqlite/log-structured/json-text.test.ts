import { expect, it } from 'vitest';
import { jsonNumber, jsonText, jsonTextOrNull } from './json-text.ts';

it('writes any text as JSON.stringify does', () => {
  const codes = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code));
  const texts = [
    '',
    'plain',
    '"',
    '\\',
    '\\"',
    'a\nb',
    '\u2028',
    '\ud800',
    'x\udc00y',
    '😀',
    '漢字',
    '__proto__',
  ];
  for (const text of [...codes, ...texts, ...codes.map((code) => `a${code}b`)])
    expect(jsonText(text)).toBe(JSON.stringify(text));
  expect([jsonTextOrNull('"'), jsonTextOrNull(null), jsonTextOrNull(undefined)]).toEqual([
    '"\\""',
    'null',
    'null',
  ]);
});

it('writes any number as JSON.stringify does', () => {
  for (const value of [0, -0, 1.5, -7, 2 ** 53, 1e21, 1e-7, Number.NaN, Number.POSITIVE_INFINITY])
    expect(`${jsonNumber(value)}`).toBe(JSON.stringify(value));
});
