import type { HttpServerConfig, McpServerConfig } from '@signalbox/mcp-host';
import { pathIn } from '../document/path-in.ts';
import type { McpServerEntry } from '../schema/server-schema.ts';
import { transportOf } from '../schema/transport.ts';
import { withoutUndefined } from '../without-undefined.ts';

/** The options that every transport has. */
type ServerPolicy = Omit<HttpServerConfig, 'type' | 'url' | 'headers' | 'auth'>;

/**
 * Turns an entry into what the MCP host takes. `directory` is that of the file that holds the entry; `limits` hold where
 * the entry sets none.
 */
export function hostServer(
  entry: McpServerEntry,
  directory: string,
  limits: NonNullable<McpServerEntry['limits']> = {},
): McpServerConfig {
  const { command = '', args, env, inheritEnv, cwd, url = '', headers, auth } = entry;
  const policy = { ...policyOf(entry, directory), ...limitsOf({ ...limits, ...entry.limits }) };
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
    command: cwd === undefined && /^(~|\.\.?)[\\/]/.test(command) ? pathIn(directory, command) : command,
    ...(args && { args }),
    ...(env && { env }),
    ...(inheritEnv && { inheritEnv }),
    ...(cwd !== undefined && { cwd: pathIn(directory, cwd) }),
    ...policy,
  };
}

function limitsOf(limits: NonNullable<McpServerEntry['limits']>): Pick<ServerPolicy, 'limits'> {
  return Object.keys(limits).length === 0 ? {} : { limits: withoutUndefined(limits) };
}

function policyOf(entry: McpServerEntry, directory: string): ServerPolicy {
  const { share, lazy, keepAliveMs, maxRestarts, restartWindowMs, circuitThreshold, circuitResetMs } = entry;
  const {
    concurrency,
    timeoutMs,
    startTimeoutMs,
    protocol,
    disabled,
    tool_discovery: toolDiscovery,
    prefix,
    card,
  } = entry;
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
    startTimeoutMs,
    protocol,
    disabled,
    toolDiscovery,
    prefix,
    card: card === undefined || /^https?:\/\//i.test(card) ? card : pathIn(directory, card),
  });
}
