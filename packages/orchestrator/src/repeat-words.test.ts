import { expect, test } from 'vitest';
import { repeatWordFor } from './repeat-words.ts';

test('a list names tools by name or pattern, and never is stronger than safe', () => {
  const lists = { safe: ['mcp_notes__*', 'mcp_files__read'], never: ['mcp_notes__delete'] };
  expect(repeatWordFor(lists, 'mcp_files__read')).toBe('safe');
  expect(repeatWordFor(lists, 'mcp_notes__add')).toBe('safe');
  expect(repeatWordFor(lists, 'mcp_notes__delete')).toBe('never');
  expect(repeatWordFor(lists, 'mcp_files__readlink')).toBeUndefined();
  expect(repeatWordFor({}, 'mcp_files__read')).toBeUndefined();
});
