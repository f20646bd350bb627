import { expect, test } from 'vitest';
import { readCallArguments, readSearchArguments } from './search-arguments.ts';

test('a search needs words, and takes a limit within its bounds', () => {
  expect(readSearchArguments({ query: 'a file' })).toEqual({ value: { query: 'a file', limit: 5 } });
  expect(readSearchArguments('{"query":"a","limit":20}')).toEqual({ value: { query: 'a', limit: 20 } });
});

test.each([
  [undefined, 'no object'],
  ['[1]', 'no object'],
  ['{', 'no object'],
  [{}, "'query'"],
  [{ query: 7 }, "'query'"],
  [{ query: ' ' }, "'query'"],
  [{ query: 'a', limit: 0 }, "'limit'"],
  [{ query: 'a', limit: 21 }, "'limit'"],
  [{ query: 'a', limit: '5' }, "'limit'"],
])('a search with %j is told what is wrong', (given, what) => {
  expect(readSearchArguments(given).problem).toContain(what);
});

test('the arguments of the called tool are left to it', () => {
  const inner = { name: 'x', arguments: 'y' };
  expect(readCallArguments({ name: 'a', arguments: inner })).toEqual({
    value: { name: 'a', arguments: inner },
  });
  expect(readCallArguments({ name: 'a', arguments: '[1]' }).value?.arguments).toBe('[1]');
  expect(readCallArguments('{"name":"a"}')).toEqual({ value: { name: 'a', arguments: undefined } });
});

test.each([
  [null, "'name'"],
  [{ name: '' }, "'name'"],
  [{ arguments: {} }, "'name'"],
  [{ name: 'a', path: '/x' }, "'path'"],
])('a call with %j is told what is wrong', (given, what) => {
  expect(readCallArguments(given).problem).toContain(what);
});
