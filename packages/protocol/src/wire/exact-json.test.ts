import { expect, it } from 'vitest';
import { exactNumber, isExactNumber, plainSpelling, readJson } from './exact-json.ts';
import { isJsonObject, parseJson, repeatedName } from './parse-json.ts';

it.each([
  '12345678901234567890',
  '-9007199254740993',
  '0.1000000000000000055511151231257827',
  '1e400',
  '-1E-400',
  '123456789012345.678901',
  `1${'0'.repeat(400)}`,
])('writes the number %s as it was read, wherever it stands', (source) => {
  for (const text of [source, `[${source}]`, `{"a":${source}}`, ` { "a" : [ 1,\t${source} ] }`]) {
    expect(JSON.stringify(readJson(text))).toBe(text.replaceAll(/\s/g, ''));
    expect(JSON.stringify(parseJson(text))).toBe(text.replaceAll(/\s/g, ''));
  }
  expect(isExactNumber(readJson(source))).toBe(true);
  expect(isJsonObject(readJson(source))).toBe(false);
});

it.each([
  ['1e3', 1000],
  ['1.50', 1.5],
  ['0.30000000000000004', 0.1 + 0.2],
  ['9007199254740992.000', 2 ** 53],
  ['1.7976931348623157e308', Number.MAX_VALUE],
  ['0.0000000000000000000e400', 0],
  ['"12345678901234567890, 1e400"', '12345678901234567890, 1e400'],
])('reads %s, which a double holds, as any other value', (text, value) => {
  expect(readJson(`[${text}]`)).toEqual([value]);
});

it('keeps names of prototypes, and refuses what is no JSON, as JSON.parse does', () => {
  const value = readJson('{"__proto__":{"a":1e400}}') as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.keys(value)).toEqual(['__proto__']);
  for (const text of ['[1e400', '01e400', '1e400 1', '-', '{"a":1e}'])
    expect(() => readJson(text)).toThrow(SyntaxError);
});

it.each([
  ['12345678901234567890', '12345678901234567890'],
  ['1234567890123456789.0e1', '12345678901234567890'],
  ['0.12345678901234567890', '0.1234567890123456789'],
  ['-12345678901234567890e-22', '-0.001234567890123456789'],
  ['1e4000', '1e4000'],
])('spells %s plainly as %s', (source, plain) => {
  expect(plainSpelling(exactNumber(source)!)).toBe(plain);
});

it.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"b":[{"a":1,"\\u0061":":"}]}', 'a'],
  ['{"a":{"a":{"a":"\\":"}},"b":["a","a"]}', undefined],
])('finds in %s the name that one object has twice: %s', (text, name) => {
  expect(repeatedName(text)).toBe(name);
});
