import type { HttpServerConfig, StdioServerConfig } from '@signalbox/mcp-host';
import { startFixture } from '../conformance/fixture-server.ts';
import { startToolStack } from '../orchestrator/tool-stack.ts';

/** Over HTTP, unless `server` says otherwise. */
export async function startHosted(
  server: Partial<HttpServerConfig> | StdioServerConfig = {},
  options: Parameters<typeof startFixture>[0] = {},
) {
  await using starting = new AsyncDisposableStack();
  const fixture = starting.use(await startFixture(options));
  const over = server.type === 'stdio' ? server : { ...server, type: 'http' as const, url: fixture.url };
  const stack = starting.use(await startToolStack({ servers: { fixture: { ...over, prefix: false } } }));
  const started = starting.move();
  return { fixture, stack, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
