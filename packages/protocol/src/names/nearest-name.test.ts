import { expect, test } from 'vitest';
import { nearestName, nearestNames, nearestTool, suggestion } from './nearest-name.ts';

const agents = ['orchestrator', 'rosa', 'rose', 'walt', 'ci-1', 'x'];

test.each([
  ['orchestator', agents, ['orchestrator']],
  ['ros', agents, ['rosa', 'rose']],
  ['roas', agents, ['rosa']],
  ['rosa2', agents, ['rosa']],
  ['wlat', agents, ['walt']],
  ['ci-2', agents, ['ci-1']],
  ['listne', ['listen', 'data', 'durability'], ['listen']],
  ['MCPSERVERS', ['mcpServers', 'roles'], ['mcpServers']],
  ['mcp_server', ['mcpServers', 'mcp_servers'], ['mcp_servers', 'mcpServers']],
  ['filePath', ['file_path', 'mode'], ['file_path']],
  ['keepBody', ['store', 'keepBodies', 'limits'], ['keepBodies']],
  ['--tll', ['--url', '--ttl', '--all'], ['--ttl', '--all']],
])('For %s among %j, %j are near.', (name, known, near) => {
  expect(nearestNames(name, known)).toEqual(near);
  expect(nearestName(name, known)).toBe(near[0]);
});

test.each([
  ['zzzzzz', ['listen', 'data']],
  ['signalbox_ask', ['echo', 'mcp_everything__echo']],
  ['somebody-else', agents],
  ['y', agents],
  ['id', ['on', 'in']],
  ['--', agents],
  ['read', ['--', '']],
])('For %s among %j, nothing is near.', (name, known) => {
  expect(nearestNames(name, known)).toEqual([]);
  expect(suggestion(name, known)).toBe('');
});

test('At most three names are suggested, and the first of very many are compared.', () => {
  const many = Array.from({ length: 5000 }, (_, i) => `agent-${i}`);
  expect(nearestNames('agent-1', many)).toEqual(['agent-1', 'agent-10', 'agent-11']);
  expect(nearestNames('walt', [...many, 'walt'])).toEqual([]);
});

test('A suggestion is written as a question.', () => {
  expect(suggestion('dney', ['allow', 'deny'])).toBe(" (did you mean 'deny'?)");
});

test.each([
  ['mcp_everything__echo', 'echo'],
  ['everything:echo', 'echo'],
  ['mcp_old__read_file', 'mcp_files__read_file'],
  ['mcp_files__delete_tree', undefined],
])('For %s the nearest tool is %s.', (name, nearest) => {
  expect(nearestTool(name, ['echo', 'mcp_files__read_file'])).toBe(nearest);
});
