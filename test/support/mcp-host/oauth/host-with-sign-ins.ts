import type { HttpServerConfig } from '@signalbox/mcp-host';
import { createAuthorizer, type RefreshTokenStore, type ServerAuth } from '@signalbox/mcp-host/server-auth';
import { startTestHost, type TestHost } from '../test-host.ts';

export const noSignIns: RefreshTokenStore = {
  read: async () => undefined,
  write: async () => {},
  forget: async () => false,
};
export const hello = { result: { content: [{ type: 'text', text: 'hello' }] } };

/** The epoch time that the authorizers see. */
export interface Clock {
  ms: number;
}

/** A host of HTTP servers with their sign-ins. Its events include those that the authorizers log. */
export function startWithAuth(
  servers: Record<string, [url: string, auth: ServerAuth]>,
  { clock = { ms: 0 }, tokens = noSignIns }: { clock?: Clock; tokens?: RefreshTokenStore } = {},
): TestHost {
  const configs = Object.entries(servers).map(([name, [url, auth]]) => [name, { type: 'http', url, auth }]);
  const host: TestHost = startTestHost({
    servers: Object.fromEntries(configs) as Record<string, HttpServerConfig>,
    authorizerFor: (server, { url, auth }) =>
      createAuthorizer({
        server,
        url,
        auth: auth!,
        tokens,
        fetch,
        now: () => clock.ms,
        log: (event) => host.events.push(event),
      }),
  });
  return host;
}
