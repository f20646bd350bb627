import { expect, it } from 'vitest';
import { parseJson } from './parse-json.ts';

it('reads JSON up to its limits and says why it refuses more', () => {
  const limits = { maxLength: 100, maxDepth: 3 };
  expect(parseJson('{"a":[[1]]}', limits)).toEqual({ a: [[1]] });
  expect(() => parseJson('{"a":[[[1]]]}', limits)).toThrow('deeper than 3');
  expect(() => parseJson(`"${'x'.repeat(100)}"`, limits)).toThrow('at most 100');
  expect(() => parseJson('{', limits)).toThrow('not JSON');
});

it('does not count brackets inside strings, whatever is escaped in them', () => {
  const limits = { maxLength: 1000, maxDepth: 1 };
  const value = { text: '[[[{"\\', more: '\\"[[', end: '\\\\' };
  expect(parseJson(JSON.stringify(value), limits)).toEqual(value);
});

it('keeps a __proto__ key from reaching any prototype', () => {
  const value = parseJson('{"__proto__":{"polluted":true}}') as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});

it('refuses a bomb of a million brackets without recursing', () => {
  expect(() => parseJson('['.repeat(1_000_000))).toThrow('deeper than 64');
});

it('refuses by depth alone, however many brackets there are', () => {
  const limits = { maxLength: 10_000, maxDepth: 3 };
  const wide = JSON.stringify([[1], [2], [3], [{}], [{}], '[[[[', '}}}}']);
  expect(parseJson(wide, limits)).toEqual(JSON.parse(wide));
  expect(() => parseJson('[[1],[2],[3],[[[]]]]', limits)).toThrow('deeper than 3');
  expect(() => parseJson('[{"a":[{', limits)).toThrow('deeper than 3');
  expect(() => parseJson('[{"a":[', limits)).toThrow('not JSON');
});
