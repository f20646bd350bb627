import { expect, test } from 'vitest';
import { parseArguments } from './call-arguments.ts';

test.each([
  [{ a: 1 }, { a: 1 }],
  ['{"a":1}', { a: 1 }],
  [' {} ', {}],
  ['', {}],
  [undefined, {}],
])('arguments %j are read as %j', (given, expected) => {
  expect(parseArguments(given)).toEqual({ arguments: expected });
});

test.each([
  [[1], 'not an array'],
  [null, 'not null'],
  [7, 'not a number'],
  ['[1]', 'not an array'],
  ['"text"', 'not a string'],
  ['{"a":', 'cannot be read as JSON'],
  ['['.repeat(300), 'nests deeper than 256'],
])('arguments %j are refused because they are %s', (given, reason) => {
  expect(parseArguments(given).problem).toContain(reason);
});

test('a prototype key in the arguments reaches no prototype', () => {
  const parsed = parseArguments('{"__proto__":{"polluted":true}}');
  expect(Object.hasOwn(parsed.arguments ?? {}, '__proto__')).toBe(true);
  expect('polluted' in {}).toBe(false);
});
