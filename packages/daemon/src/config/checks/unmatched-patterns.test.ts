import { expect, test } from 'vitest';
import { builtInConfig, type Config } from '../config.ts';
import { unmatchedPatterns } from './unmatched-patterns.ts';

const command = { type: 'stdio', command: 'x' } as const;

function warningsOf(tools: string[], more: Partial<Config> = {}): string[] {
  const mcpServers = { github: command, 'My Files': command, 'a-name-of-more-than-sixteen': command };
  const config = { ...builtInConfig(), mcpServers, roles: { reader: { tools } }, ...more };
  return unmatchedPatterns(config, '(config)').map((text) =>
    text.replace('(config): roles.reader.tools', ''),
  );
}

test('A pattern that some tool of a server could match is no problem.', () => {
  const tools = [
    '*',
    '*:*',
    'mcp_*',
    'm*read*',
    'github:*',
    'My *:x',
    'mcp_github__create_*',
    'mcp_my_files__*',
  ];
  tools.push(
    'mcp_a_name_of_more_t__x_0123abcd',
    'mcp_a_name_of_more_than_sixteen__*',
    'mcp_git*__read',
    '*_read',
  );
  expect(warningsOf(tools)).toEqual([]);
});

test('A pattern that no tool of any server can match is named with its place and the nearest one that could.', () => {
  expect(warningsOf(['mcp_githb__*', 'gihub:read', 'read_file', 'mcp_zzzzzzzz__x'])).toEqual([
    "[0]: 'mcp_githb__*' matches no tool: no server has this name (did you mean 'mcp_github__*'?)",
    "[1]: 'gihub:read' matches no tool: no server has this name (did you mean 'github:read'?)",
    "[2]: 'read_file' matches no tool: tools are shown as mcp_SERVER__TOOL; write mcp_github__… or SERVER:TOOL",
    "[3]: 'mcp_zzzzzzzz__x' matches no tool: no server has this name; there are: github, My Files, a-name-of-more-than-sixteen",
  ]);
  expect(warningsOf(['x'], { mcpServers: {} })).toEqual([
    "[0]: 'x' matches no tool: no server is configured",
  ]);
  const repeat = { safe: ['gihub:*'] };
  const { orchestrator } = builtInConfig();
  expect(warningsOf([], { orchestrator: { ...orchestrator, repeat } })).toEqual([
    expect.stringContaining('orchestrator.safeToRepeat[0]'),
  ]);
});

test('Where tools may have names of their own, only a name of the form mcp_SERVER__TOOL is judged.', () => {
  const unprefixed = { mcpServers: { files: { ...command, prefix: false } } };
  for (const more of [unprefixed, { capabilities: ['/c'] }])
    expect(warningsOf(['read_file', 'weather', 'mcp_other__x'], more)).toHaveLength(1);
});

test('Patterns of prompts and resources are judged by their servers, too.', () => {
  const role = { tools: [], prompts: ['github:*', 'gihub:*'], resources: ['github:a:*', 'gihub:file:///x'] };
  expect(warningsOf([], { roles: { reader: role } })).toEqual([
    "(config): roles.reader.prompts[1]: 'gihub:*' matches no prompt: no server has this name (did you mean 'github:*'?)",
    "(config): roles.reader.resources[1]: 'gihub:file:///x' matches no resource: no server has this name (did you mean 'github:file:///x'?)",
  ]);
});
