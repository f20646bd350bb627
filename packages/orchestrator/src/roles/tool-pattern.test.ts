import { expect, test } from 'vitest';
import { matchesTool } from './tool-pattern.ts';

test.each([
  ['files:*', true],
  ['files:x:read', true],
  ['*:x:read', true],
  ['mcp_files__*', true],
  ['file:*', false],
  ['files:read', false],
  ['files_:*', false],
  ['mcp_files__x_read:*', false],
])('the pattern %j for the tool x:read of the server files gives %j', (pattern, expected) => {
  const origin = { server: 'files', tool: 'x:read' };
  expect(matchesTool(pattern, 'mcp_files__x_read', origin)).toBe(expected);
});

test('a pattern of a server matches no tool that comes from no server', () => {
  expect(matchesTool('*:*', 'issues', undefined)).toBe(false);
});
