import type { Config } from '@signalbox/daemon/config';
import { findConfig, searchedText } from '@signalbox/daemon/config/internal';
import type { HttpServerConfig } from '@signalbox/mcp-host';
import type { AuthorizationCodeAuth } from '@signalbox/mcp-host/server-auth';
import { SignalboxError } from '@signalbox/protocol';
import { nearestName } from '@signalbox/protocol/internal';
import { loadFound } from '../config/load-found.ts';

/** A server to which a person signs in. */
export interface SignInServer {
  config: Config;
  server: HttpServerConfig;
  auth: AuthorizationCodeAuth;
}

/** Finds a server by its name in the configuration. Rejects with `server_not_found`, or `usage` if nobody signs in to it. */
export async function findSignInServer(name: string, flags: { config?: string }): Promise<SignInServer> {
  const found = findConfig(flags.config);
  if (!found) {
    throw new SignalboxError('usage', `no configuration to find the server in: ${searchedText()}`, {
      details: { hint: 'name it with --config' },
    });
  }
  const names: string[] = [];
  const config = await loadFound(found, { onlyServer: name, onServer: (other) => names.push(other) });
  const server = config.mcpServers[name];
  if (server === undefined) {
    const nearest = nearestName(name, names);
    const hint =
      nearest === undefined ? `there are: ${names.join(', ') || 'none'}` : `did you mean '${nearest}'?`;
    throw new SignalboxError('server_not_found', `no server is named '${name}' in ${found.file}`, {
      details: { hint },
    });
  }
  if (server.type === 'http' && server.auth?.type === 'authorization_code') {
    return { config, server, auth: server.auth };
  }
  const has =
    server.type === 'http'
      ? `has auth of type ${server.auth?.type ?? '(none)'}`
      : server.type === 'remote'
        ? `is hosted by '${server.label}', where its sign-in belongs`
        : 'is run here';
  throw new SignalboxError('usage', `nobody signs in to '${name}': it ${has}`, {
    details: { hint: 'a sign-in is for HTTP servers with auth: { type: authorization_code }' },
  });
}
