import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { openUpstreamFetch } from './upstream-fetch.ts';

test.each([
  ['0', []],
  ['1', ['mcp.example:80']],
])('with NODE_USE_ENV_PROXY=%s the proxy of the environment is asked for %j', async (uses, expected) => {
  const asked: (string | undefined)[] = [];
  const proxy = createServer().on('connect', ({ url }, socket) => {
    asked.push(url);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  vi.stubEnv('NODE_USE_ENV_PROXY', uses);
  vi.stubEnv('http_proxy', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  vi.stubEnv('no_proxy', '');
  const upstream = openUpstreamFetch();
  // No name ends in .invalid, so that a request without the proxy fails, too.
  const host = uses === '1' ? 'mcp.example' : 'mcp.invalid';
  await expect(upstream.fetch(`http://${host}/mcp`)).rejects.toThrow();
  expect(asked).toEqual(expected);
  await upstream.close();
  proxy.close();
});
