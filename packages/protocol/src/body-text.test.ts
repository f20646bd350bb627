import { expect, test } from 'vitest';
import { bodyTextOf } from './body-text.ts';

test.each([
  ['hello', { text: 'hello', isWhole: true }],
  [{ text: 'hello' }, { text: 'hello', isWhole: true }],
  [
    { text: 'hello', page: 4 },
    { text: 'hello', isWhole: false },
  ],
  [{ text: 4 }, undefined],
  [{ page: 4 }, undefined],
  [['hello'], undefined],
  [null, undefined],
  [4, undefined],
])('The body %j is read as %j.', (value, expected) => {
  expect(bodyTextOf(value)).toEqual(expected);
});
