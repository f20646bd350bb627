import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { startTestHost } from '../support/mcp-host/test-host.ts';
import { toolNamed } from '../support/mcp-host/test-servers.ts';

it('reads server cards from files and URLs; says why one cannot be read, without its address, and tries the server', async () => {
  await using dir = await tempDir();
  const find = toolNamed('find', { description: 'Finds.', 'x-vendor': 1 });
  const text = JSON.stringify({
    name: 'finder',
    description: 'It finds.',
    tools: [find, { name: 'broken', inputSchema: 7 }],
  });
  const answers: Record<string, () => Response> = {
    '/.well-known/mcp-card': () => new Response(text),
    '/huge': () => new Response(' '.repeat(5 * 1024 * 1024)),
  };
  await using endpoint = await startEndpoint(
    async ({ url }) => answers[new URL(url).pathname]?.() ?? new Response('', { status: 404 }),
  );
  const files = { good: text, toolless: '{"tools": 3}', garbled: 'secret{' };
  for (const [name, content] of Object.entries(files)) await writeFile(join(dir.path, name), content);
  const at = (path: string) => new URL(path, endpoint.url).href;
  const cards = {
    file: join(dir.path, 'good'),
    web: at('/.well-known/mcp-card'),
    toolless: join(dir.path, 'toolless'),
    garbled: join(dir.path, 'garbled'),
    absent: join(dir.path, 'absent'),
    refused: at('/other?token=sekret'),
    huge: at('/huge'),
    closed: 'http://127.0.0.1:1/?token=sekret',
  };
  const servers = Object.fromEntries(
    Object.entries(cards).map(([name, card]) => [
      name,
      { type: 'stdio' as const, command: '/no/such/program', lazy: true, card },
    ]),
  );
  await using host = startTestHost({ servers, random: () => 1 });
  const { tools, problems } = await host.inventory();
  expect(tools).toEqual(['file', 'web'].map((name) => ({ ...find, name: `mcp_${name}__find` })));
  const broken = { tool: 'broken', message: expect.stringContaining('inputSchema') };
  const down = {
    message:
      "not available: it failed and is not started any more: its command 'program' was not found (ENOENT)",
  };
  const unread = (server: string, why: string) => [
    { server, ...down },
    { server, message: expect.stringMatching(new RegExp(`^its card ${why}`)) },
  ];
  expect(problems).toEqual([
    { server: 'file', ...broken },
    { server: 'web', ...broken },
    ...unread('toolless', 'has no tools'),
    ...unread('garbled', 'cannot be read: it is not JSON$'),
    ...unread('absent', 'cannot be read: ENOENT$'),
    ...unread('refused', 'cannot be read: HTTP 404$'),
    ...unread('huge', 'cannot be read: it is larger than 4 MiB$'),
    ...unread('closed', 'cannot be read: '),
  ]);
  expect(JSON.stringify([problems, host.events])).not.toContain('sekret');
  expect(
    host
      .servers()
      .map(({ state }) => state)
      .slice(0, 2),
  ).toEqual(['idle', 'idle']);
});
