import { fileURLToPath } from 'node:url';
import type { McpServerConfig } from '@signalbox/mcp-host';
import { compileCache, programOptions } from '@signalbox/testing';
import { serveHttpFace } from '@signalbox/worker';
import { startJournaledStack } from '../orchestrator/journaled-stack.ts';
import { startAuthorizingProxy } from './authorizing-proxy.ts';
import { startFixture } from './fixture-server.ts';

/** The way to the reference server without us. */
export const directWay = 'direct' as const;

/** A way in which the orchestrator reaches the reference server, and the revision that they speak. */
export const relayedWays = ['http 2026', 'http 2025', 'stdio 2026', 'stdio 2025'] as const;

/** The ways on which the official suite reaches the reference server. */
export const ways = [directWay, ...relayedWays] as const;
export type Way = (typeof ways)[number];

/**
 * Starts a reference server with the parts of the way in front of it. The suite uses `url`. Servers over stdio always have the slow tools.
 */
export async function startWay(
  way: Way,
  options?: { slow: boolean },
): Promise<{ url: string } & AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const [transport, revision] = way.split(' ');
  const fixture = transport === 'stdio' ? undefined : starting.use(await startFixture(options));
  let url = fixture?.url;
  if (way !== directWay) {
    const server: McpServerConfig = {
      ...(url === undefined ? stdioFixture() : { type: 'http', url }),
      protocol: revision === '2025' ? 'legacy' : 'auto',
      prefix: false,
    };
    url = starting.use(await startRelay(server)).url;
  }
  const started = starting.move();
  return { url: url!, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

function stdioFixture() {
  const script = fileURLToPath(new URL('./fixture-server.ts', import.meta.url));
  const args = [...programOptions(), script, 'stdio'];
  return { type: 'stdio', command: process.execPath, args, env: compileCache() } as const;
}

/** Starts broker, orchestrator, host and HTTP face in front of a server, whose tools have their own names. */
async function startRelay(server: McpServerConfig): Promise<{ url: string } & AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(await startJournaledStack({ servers: { reference: server }, counter: false }));
  const face = starting.use(
    await serveHttpFace({
      listen: { host: '127.0.0.1', port: 0 },
      connect: { url: stack.broker.url },
      version: '1.0.0',
      unreadHint: 'meta',
      taskAfterMs: 100,
    }),
  );
  const token = await stack.broker.token('agent', 'worker');
  const { url } = starting.use(await startAuthorizingProxy(face.port, token));
  const started = starting.move();
  return { url, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
