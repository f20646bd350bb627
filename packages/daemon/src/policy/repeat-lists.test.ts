import { expect, test } from 'vitest';
import { repeatLists } from './repeat-lists.ts';

function configOf(servers: string[], serverRepeat: Record<string, { safe?: string[]; never?: string[] }>) {
  return {
    mcpServers: Object.fromEntries(servers.map((name) => [name, { type: 'stdio' as const, command: 'x' }])),
    serverRepeat,
    orchestrator: {
      id: 'o',
      lane: true,
      concurrency: {},
      budgets: {},
      limits: { calls: {}, journal: {}, results: {} },
      repeat: { safe: ['mcp_x__y'] },
    },
    origins: {},
  };
}

test("A server's own names and patterns become those under which its tools are shown.", () => {
  const config = configOf(['My.Files'], { 'My.Files': { safe: ['read_*', 'list.all'], never: ['*'] } });
  expect(repeatLists(config, [])).toEqual({
    safe: ['mcp_x__y', 'mcp_my_files__read_*', 'mcp_my_files__list_all'],
    never: ['mcp_my_files__*'],
  });
});

test('A tool that is shown under another name is in the list by that name; those of other servers are not.', () => {
  const config = configOf(['files', 'web'], { files: { safe: ['*_list'] } });
  const renamed = [
    { server: 'files', tool: 'a_very_long_list', name: 'mcp_files__a_very_1234abcd' },
    { server: 'web', tool: 'a_list', name: 'mcp_web__a_list_1234abcd' },
    { server: 'files', tool: 'drop', name: 'mcp_files__drop_1234abcd' },
  ];
  expect(repeatLists(config, renamed).safe).toEqual([
    'mcp_x__y',
    'mcp_files__*_list',
    'mcp_files__a_very_1234abcd',
  ]);
});

test.each(['files_', 'FILES', 'files__archive'])(
  'Lists of server "files" are refused beside server "%s", whose tools they could mean.',
  (rival) => {
    const config = configOf(['files', rival], { files: { safe: ['*'] } });
    expect(() => repeatLists(config, [])).toThrow(`cannot be told apart from tools of '${rival}'`);
    expect(repeatLists(configOf(['files', rival], {}), []).never).toEqual([]);
  },
);

test('The lists of a server without a prefix hold its own tools, and never those of others by the same name.', () => {
  const { mcpServers, ...config } = configOf(['files', 'web', 'FILES'], {
    files: { safe: ['list', 'read_*'], never: ['drop', 'move_*'] },
  });
  const bare = { ...config, mcpServers: { ...mcpServers, files: { ...mcpServers.files!, prefix: false } } };
  const renamed = [
    { server: 'files', tool: 'read_all', name: 'read_all' },
    { server: 'files', tool: 'move_it', name: 'move_it' },
    { server: 'web', tool: 'read_web', name: 'read_web' },
  ];
  expect(repeatLists(bare, renamed)).toEqual({ safe: ['mcp_x__y', 'read_all'], never: ['drop', 'move_it'] });
  expect(repeatLists(bare, [])).toEqual({ safe: ['mcp_x__y'], never: ['drop'] });
  const own = { server: 'files', tool: 'list', name: 'list' };
  expect(repeatLists(bare, [own]).safe).toEqual(['mcp_x__y', 'list']);
});
