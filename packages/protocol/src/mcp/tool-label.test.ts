import { expect, test } from 'vitest';
import { toolLabel } from './tool-label.ts';

test.each([
  ['mcp_files__read_file', 'files', 'files:read_file'],
  ['mcp_files__read_file', undefined, 'files:read_file'],
  ['mcp_my_files__read', 'My-Files', 'My-Files:read'],
  ['mcp_a__b__c', 'a__b', 'a__b:c'],
  ['mcp_a__b__c', undefined, 'a:b__c'],
  ['read_file', 'files', 'read_file'],
  ['Bash: ls', undefined, 'Bash: ls'],
  ['mcp_files__', 'files', 'mcp_files__'],
])('The tool %s of %s is shown as %s.', (tool, server, label) => {
  expect(toolLabel({ tool, server })).toBe(label);
});
