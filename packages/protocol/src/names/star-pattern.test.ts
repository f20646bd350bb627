import { expect, test } from 'vitest';
import { matchesPattern, mayMatchStart } from './star-pattern.ts';

test.each([
  ['mcp_github__*', 'mcp_github__create_issue', true],
  ['mcp_github__*', 'mcp_gitlab__create_issue', false],
  ['mcp_github__search', 'mcp_github__search', true],
  ['mcp_github__search', 'mcp_github__search_code', false],
  ['*', 'anything', true],
  ['*', '', true],
  ['*__read_*', 'mcp_files__read_text', true],
  ['*__read_*', 'mcp_files__write_text', false],
  ['a*b', 'ab', true],
  ['a*b', 'a', false],
  ['ab*ba', 'aba', false],
  ['a*b*c', 'axbxbxc', true],
  ['a**c', 'abc', true],
  ['', '', true],
  ['', 'a', false],
  ['a.c', 'abc', false],
  ['mcp_?', 'mcp_a', false],
])('the pattern %j on %j gives %j', (pattern, name, expected) => {
  expect(matchesPattern(pattern, name)).toBe(expected);
});

test('a hostile pattern, which would keep a backtracking matcher busy for ever, is answered', () => {
  expect(matchesPattern(`${'a*'.repeat(2000)}b`, 'a'.repeat(4000))).toBe(false);
});

test.each([
  ['*', true],
  ['m*', true],
  ['mcp_files__*', true],
  ['mcp_files__read', true],
  ['mcp_file*', true],
  ['*_read', true],
  ['mcp_files__', true],
  ['mcp_file', false],
  ['mcp_git*', false],
  ['', false],
])('the pattern %j on texts that begin with mcp_files__ gives %j', (pattern, expected) => {
  expect(mayMatchStart(pattern, 'mcp_files__')).toBe(expected);
});
