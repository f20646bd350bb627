import { resolve } from 'node:path';
import type { HttpServerConfig, McpServerConfig } from '@signalbox/mcp-host';
import type { McpServerEntry } from './server-schema.ts';
import { transportOf } from './transport.ts';

/** What is kept the same for every transport. */
type ServerPolicy = Omit<HttpServerConfig, 'type' | 'url' | 'headers' | 'auth'>;

/** An entry as the MCP host takes it. `directory` is that of the file it stands in. */
export function toServer(entry: McpServerEntry, directory: string): McpServerConfig {
  const { command = '', args, env, cwd, url = '', headers, auth } = entry;
  const policy = policyOf(entry, directory);
  if (transportOf(entry) === 'http') {
    return {
      type: 'http',
      url,
      ...(headers && { headers }),
      ...(auth && { auth: withoutUndefined(auth) as NonNullable<HttpServerConfig['auth']> }),
      ...policy,
    };
  }
  return {
    type: 'stdio',
    // A command of the file's own folder; where `cwd` is set, the system reads it from there.
    command: cwd === undefined && /^\.\.?[\\/]/.test(command) ? resolve(directory, command) : command,
    ...(args && { args }),
    ...(env && { env }),
    ...(cwd !== undefined && { cwd: resolve(directory, cwd) }),
    ...policy,
  };
}

function policyOf(entry: McpServerEntry, directory: string): ServerPolicy {
  const { share, lazy, keepAliveMs, maxRestarts, restartWindowMs, circuitThreshold, circuitResetMs } = entry;
  const { concurrency, timeoutMs, protocol, disabled, tool_discovery: toolDiscovery, prefix, card } = entry;
  return withoutUndefined({
    share,
    lazy,
    keepAliveMs,
    maxRestarts,
    restartWindowMs,
    circuitThreshold,
    circuitResetMs,
    concurrency,
    timeoutMs,
    protocol,
    disabled,
    toolDiscovery,
    prefix,
    card: card === undefined || /^https?:\/\//i.test(card) ? card : resolve(directory, card),
  });
}

/** Exact optional properties: what is not there is left out. */
type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The same without what is undefined. */
export function withoutUndefined<T extends object>(facts: T): Partial<Present<T>> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Partial<
    Present<T>
  >;
}
