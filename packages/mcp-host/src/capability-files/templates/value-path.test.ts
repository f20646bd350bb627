import { expect, it } from 'vitest';
import { parseValuePath, valueAt } from './value-path.ts';

it.each([
  ['items', ['items']],
  ['items[0].name', ['items', '0', 'name']],
  ['a.b[1][2]', ['a', 'b', '1', '2']],
  ['/items/0/a~1b~0c', ['items', '0', 'a/b~c']],
  ['/', ['']],
  ['a..b', undefined],
  ['a[x]', undefined],
  ['[0]', undefined],
  ['.a', undefined],
  ['/a~2', undefined],
])('reads %j', (text, steps) => {
  expect(parseValuePath(text)).toEqual(steps);
});

it('finds what is there, and nothing that is inherited', () => {
  const value = { items: [{ name: null }] };
  expect(valueAt(value, ['items', '0', 'name'])).toBeNull();
  expect(valueAt(value, ['items', '1', 'name'])).toBeUndefined();
  expect(valueAt(value, ['items', 'length'])).toBe(1);
  expect(valueAt(value, ['constructor'])).toBeUndefined();
  expect(valueAt('text', ['length'])).toBeUndefined();
});
