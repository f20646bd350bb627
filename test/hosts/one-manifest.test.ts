import { expect, test } from 'vitest';
import { everything, startSite } from '../support/hosts/hosts.ts';

test('An agent sees the tools of two machines in one list, and calls those of both.', async () => {
  await using site = await startSite({
    mcpServers: { here: everything },
    hosts: { gpu: ['render'] },
    roles: { artist: { tools: ['here:echo', 'render:echo', 'render:get-sum'] } },
  });
  await using _host = await site.host('gpu', { render: everything, other: everything });
  const client = await site.client('rosa', 'artist');
  await expect
    .poll(
      async () =>
        (await client.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith('mcp_')),
      {
        timeout: 30_000,
      },
    )
    .toEqual(['mcp_here__echo', 'mcp_render__echo', 'mcp_render__get-sum']);
  const echo = await client.callTool({ name: 'mcp_here__echo', arguments: { message: 'near' } });
  expect(echo.content).toEqual([{ type: 'text', text: expect.stringContaining('near') }]);
  const sum = await client.callTool({ name: 'mcp_render__get-sum', arguments: { a: 19, b: 23 } });
  expect(sum.content).toEqual([{ type: 'text', text: expect.stringContaining('42') }]);
  const status = await site.hub.run(['tools', 'status', '--json', '--config', 'signalbox.yaml']);
  expect(JSON.parse(status.stdout)).toMatchObject({});
});
