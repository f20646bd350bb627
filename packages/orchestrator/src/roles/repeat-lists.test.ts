import { expect, test } from 'vitest';
import { explainRepeat, repeatOverrideFor } from './repeat-lists.ts';

test('a list names tools by name or pattern, and never is stronger than safe', () => {
  const lists = { safe: ['mcp_notes__*', 'mcp_files__read'], never: ['mcp_notes__delete'] };
  expect(repeatOverrideFor(lists, 'mcp_files__read')).toBe('safe');
  expect(repeatOverrideFor(lists, 'mcp_notes__add')).toBe('safe');
  expect(repeatOverrideFor(lists, 'mcp_notes__delete')).toBe('never');
  expect(repeatOverrideFor(lists, 'mcp_files__readlink')).toBeUndefined();
  expect(repeatOverrideFor({}, 'mcp_files__read')).toBeUndefined();
});

test.each([
  ['mcp_notes__delete', {}, 'unsafe', "neverRepeat: 'mcp_notes__delete'"],
  ['mcp_notes__delete', { readOnlyHint: true }, 'unsafe', "neverRepeat: 'mcp_notes__delete'"],
  ['mcp_notes__add', {}, 'safe', "safeToRepeat: 'mcp_notes__*'"],
  ['mcp_files__list', { readOnlyHint: true }, 'safe', 'its server declares readOnlyHint'],
  ['mcp_files__put', { idempotentHint: true }, 'safe', 'its server declares idempotentHint'],
  ['mcp_files__add', {}, 'unsafe', 'its server declares neither readOnlyHint nor idempotentHint'],
])('%s with the annotations %j is %s to repeat: %s', (name, annotations, repeat, repeat_rule) => {
  const lists = { safe: ['mcp_notes__*'], never: ['mcp_notes__delete'] };
  const tool = { name, annotations, inputSchema: { type: 'object' as const } };
  expect(explainRepeat(lists, tool)).toEqual({ repeat, repeat_rule });
});
