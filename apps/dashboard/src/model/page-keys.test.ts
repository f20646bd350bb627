import { expect, test } from 'vitest';
import { pageKeyOf } from './page-keys.ts';

const jumps = { a: 'approvals' };
const press = {
  repeat: false,
  defaultPrevented: false,
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  target: null,
};
const at = (key: string, isJump = false, more = {}) =>
  pageKeyOf({ ...press, key, ...more }, { jumps, isJump });

test('A question mark shows the keys, a slash goes to the search, and g with a letter to a view.', () => {
  expect(['?', '/', 'g', 'a'].map((key) => at(key))).toEqual(['help', 'search', 'jump', undefined]);
  expect([at('a', true), at('x', true), at('toString', true)]).toEqual([
    { view: 'approvals' },
    undefined,
    undefined,
  ]);
});

test('A key for a field, with a modifier or held down, does nothing.', () => {
  const field = { closest: (selector: string) => (selector.includes('input') ? {} : null) };
  for (const more of [{ target: field }, { ctrlKey: true }, { repeat: true }, { defaultPrevented: true }])
    expect(at('?', false, more)).toBeUndefined();
});
