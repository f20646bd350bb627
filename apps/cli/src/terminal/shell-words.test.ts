import { expect, test } from 'vitest';
import { shellWords } from './shell-words.ts';

test('Only words that a shell would split or expand are quoted.', () => {
  expect(shellWords('signalbox', 'tools', '--token-file', './a.token')).toBe(
    'signalbox tools --token-file ./a.token',
  );
  expect(shellWords('a b', "it's", '$HOME', '')).toBe(`'a b' 'it'\\''s' '$HOME' ''`);
});
