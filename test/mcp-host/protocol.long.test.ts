import { expect, it } from 'vitest';
import { serverThatKnows } from '../support/mcp-host/protocol.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';

it('speaks the older revisions over stdio, and the current one where it is asked to look for it', async () => {
  await using host = startTestHost({
    servers: {
      plain: serverThatKnows('both'),
      both: serverThatKnows('both', 'auto'),
      modern: serverThatKnows('modern', 'auto'),
      legacy: serverThatKnows('legacy', 'auto'),
      exits: serverThatKnows('exits', 'auto'),
      proxy: serverThatKnows('proxy', 'auto'),
    },
  });
  const { tools, problems } = await host.inventory();
  expect(tools.map(({ name }) => name)).toEqual([
    'mcp_both__modern',
    'mcp_exits__legacy',
    'mcp_legacy__legacy',
    'mcp_modern__modern',
    'mcp_plain__legacy',
    'mcp_proxy__legacy',
  ]);
  expect(problems).toHaveLength(6);
  expect(problems.map(({ tool }) => tool)).toEqual(Array(6).fill('bad'));
  const { pids = [] } = host.servers().find(({ name }) => name === 'modern') ?? {};
  // The process that was asked is the one that serves, and its results come whole.
  expect(await call(host, 'mcp_modern__modern')).toMatchObject({
    result: { content: [{ text: `modern ${pids[0]}` }], 'x-extra': 1 },
  });
  expect(host.servers().every(({ restarts, instances }) => restarts === 0 && instances === 1)).toBe(true);

  // A question that the current revision forbids is refused at once, so that no call waits for it.
  for (const tool of ['mcp_modern__modern', 'mcp_plain__legacy'])
    expect(await call(host, tool, { ask: true })).toMatchObject({
      result: { content: [{ text: 'refused with -32601' }] },
    });
  expect(host.events).toContainEqual(
    expect.objectContaining({ server: 'modern', reason: expect.stringContaining("'roots/list'") }),
  );

  for (const [server, tool] of [
    ['modern', 'mcp_modern__modern'],
    ['proxy', 'mcp_proxy__legacy'],
  ] as const) {
    await call(host, tool, { exit: true });
    await host.seen('server_ready', { server }, 2);
    expect(await call(host, tool)).toHaveProperty('result');
  }
});
