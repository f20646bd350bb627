import { expect, it } from 'vitest';
import { bodyLimits } from './body-limits.ts';
import { jsonSize, parseJson } from './parse-json.ts';

it('reads JSON up to its limits and says why it refuses more', () => {
  const limits = { maxLength: 100, maxDepth: 3, maxNodes: 100 };
  expect(parseJson('{"a":[[1]]}', limits)).toEqual({ a: [[1]] });
  expect(() => parseJson('{"a":[[[1]]]}', limits)).toThrow('deeper than 3');
  expect(() => parseJson(`"${'x'.repeat(100)}"`, limits)).toThrow('at most 100');
  expect(() => parseJson('{', limits)).toThrow('not JSON');
});

it('does not count brackets inside strings, with any escapes in them', () => {
  const limits = { maxLength: 1000, maxDepth: 1, maxNodes: 10 };
  const value = { text: '[[[{"\\', more: '\\"[[', end: '\\\\' };
  expect(parseJson(JSON.stringify(value), limits)).toEqual(value);
});

it('keeps a __proto__ key from reaching any prototype', () => {
  const value = parseJson('{"__proto__":{"polluted":true}}') as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});

it('refuses a bomb of a million brackets without recursing', () => {
  expect(() => parseJson('['.repeat(1_000_000))).toThrow('deeper than 256');
});

it('refuses by depth alone, however many brackets there are', () => {
  const limits = { maxLength: 10_000, maxDepth: 3, maxNodes: 100 };
  const wide = JSON.stringify([[1], [2], [3], [{}], [{}], '[[[[', '}}}}']);
  expect(parseJson(wide, limits)).toEqual(JSON.parse(wide));
  expect(() => parseJson('[[1],[2],[3],[[[]]]]', limits)).toThrow('deeper than 3');
  expect(() => parseJson('[{"a":[{', limits)).toThrow('deeper than 3');
  expect(() => parseJson('[{"a":[', limits)).toThrow('not JSON');
});

it('refuses more values and names than the bound, and counts nothing inside strings', () => {
  const limits = { maxLength: 1000, maxDepth: 3, maxNodes: 6 };
  for (const text of ['[1,2,3,4,5]', '{"a":1,"b":2}', '["[,:{,,,,,\\",,,,",2]', '"{{{{[[[[,,,,::::"']) {
    expect(parseJson(text, limits)).toEqual(JSON.parse(text));
  }
  for (const text of ['[1,2,3,4,5,6]', '{"a":1,"b":{"c":2}}', '[[],[],[]]', ',,,,,,']) {
    expect(() => parseJson(text, limits), text).toThrow('more than 6 values and names');
  }
});

it('refuses millions of empty objects after a part of the text, and as many characters in one string not at all', () => {
  const hostile = `[${'{},'.repeat(1_000_000)}{}]`;
  expect(() => parseJson(hostile)).toThrow(`more than ${bodyLimits.maxNodes} values and names`);
  expect(jsonSize(hostile, bodyLimits)).toEqual({ depth: 2, nodes: bodyLimits.maxNodes + 1 });
  expect(parseJson(JSON.stringify(hostile))).toBe(hostile);
});

it('never counts fewer nodes than a value has', () => {
  const countOf = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 1;
    const names = Array.isArray(value) ? 0 : Object.keys(value).length;
    return Object.values(value).reduce<number>((sum, inner) => sum + countOf(inner), 1 + names);
  };
  const values = [
    0,
    null,
    'a,b',
    [],
    {},
    [[]],
    [{}, []],
    { a: { b: [1, 'x:{', null] }, c: {} },
    [[1, [2, [3]]], { d: 'e' }],
  ];
  for (const value of values) {
    for (const text of [JSON.stringify(value), JSON.stringify(value, undefined, 2)]) {
      const { nodes } = jsonSize(text, { maxDepth: 100, maxNodes: 100 });
      expect(nodes, text).toBeGreaterThanOrEqual(countOf(value));
      expect(nodes, text).toBeLessThanOrEqual(2 * countOf(value));
    }
  }
});
