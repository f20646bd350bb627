import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { compileCache, programOptions } from '@signalbox/testing';
import { startWorkspace } from '../cli/workspace.ts';
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
    const server = {
      ...(url === undefined ? stdioFixture() : { type: 'http', url }),
      protocol: revision === '2025' ? 'legacy' : 'auto',
    };
    url = starting.use(await startUp(server)).url;
  }
  const started = starting.move();
  return { url: url!, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

function stdioFixture() {
  const script = fileURLToPath(new URL('./fixture-server.ts', import.meta.url));
  const args = [...programOptions(), script, 'stdio'];
  return { type: 'stdio', command: process.execPath, args, env: compileCache() } as const;
}

/** Starts `signalbox up` from a file with the server and a role that may use all of it. Its tools have their own names. */
async function startUp(server: object): Promise<{ url: string } & AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: { reference: { ...server, prefix: false } },
    roles: { tester: { tools: ['*'], prompts: ['reference:*'], resources: ['reference:*'] } },
    worker: { http: '127.0.0.1:0' },
  };
  const workspace = starting.use(await startWorkspace(() => JSON.stringify(config), { face: true }));
  const { env } = await workspace.agent('tester-1', 'tester');
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const face = new URL(workspace.ready.face!.url!);
  const { url } = starting.use(await startAuthorizingProxy(Number(face.port), token));
  const started = starting.move();
  return { url, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
