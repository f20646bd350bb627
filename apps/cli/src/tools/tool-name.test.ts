import { mcpToolName } from '@signalbox/mcp-host/rules';
import { expect, test } from 'vitest';
import { toolNamed, withToolLabels } from './tool-name.ts';

const long = 'a_tool_whose_name_is_longer_than_most_clients_take';
const shortened = mcpToolName('Files', long);
const listed = [
  shortened,
  'mcp_files__read_file',
  'mcp_files__write_file',
  'mcp_old_files__read_file',
  'echo',
];

test.each([
  ['mcp_files__read_file', 'mcp_files__read_file'],
  ['files:read_file', 'mcp_files__read_file'],
  ['old_files:read_file', 'mcp_old_files__read_file'],
  ['write_file', 'mcp_files__write_file'],
  ['echo', 'echo'],
  ['files:withheld', 'mcp_files__withheld'],
  ['files:read file', 'mcp_files__read_file'],
  [`Files:${long}`, shortened],
  ['files:', 'files:'],
  ['no_such', 'no_such'],
])('%s names %s', (name, expected) => {
  expect(toolNamed(name, listed)).toBe(expected);
});

test('A name that several servers have is refused with the names of both.', () => {
  expect(() => toolNamed('read_file', listed)).toThrow("several servers have a tool 'read_file'");
});

test('Tools in a text have the names that people read, and patterns stay as the configuration has them.', () => {
  expect(withToolLabels("no 'mcp_files__raed'; try 'mcp_files__read', or 'echo'")).toBe(
    "no 'files:raed'; try 'files:read', or 'echo'",
  );
  expect(withToolLabels("refused by 'mcp_files__*'")).toBe("refused by 'mcp_files__*'");
});
