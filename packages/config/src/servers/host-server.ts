import type { HttpServerConfig, McpServerConfig } from '@signalbox/mcp-host';
import type { McpServerEntry } from '../schema/server-schema.ts';
import { transportOf } from '../schema/transport.ts';
import { withoutUndefined } from '../without-undefined.ts';

/** The options that every transport has. */
type ServerPolicy = Omit<HttpServerConfig, 'type' | 'url' | 'headers' | 'auth'>;

/** Turns an entry whose paths are absolute into what the MCP host takes; `limits` hold where the entry sets none. */
export function hostServer(
  entry: McpServerEntry,
  limits: NonNullable<McpServerEntry['limits']> = {},
): McpServerConfig {
  const { command = '', args, env, inheritEnv, cwd, url = '', headers, auth } = entry;
  const policy = { ...policyOf(entry), ...limitsOf({ ...limits, ...entry.limits }) };
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
    command,
    ...(args && { args }),
    ...(env && { env }),
    ...(inheritEnv && { inheritEnv }),
    ...(cwd !== undefined && { cwd }),
    ...policy,
  };
}

function limitsOf(limits: NonNullable<McpServerEntry['limits']>): Pick<ServerPolicy, 'limits'> {
  return Object.keys(limits).length === 0 ? {} : { limits: withoutUndefined(limits) };
}

function policyOf(entry: McpServerEntry): ServerPolicy {
  const { share, lazy, keepAliveMs, maxRestarts, restartWindowMs, circuitThreshold, circuitResetMs } = entry;
  const {
    concurrency,
    timeoutMs,
    startTimeoutMs,
    protocol,
    questions,
    disabled,
    tool_discovery: toolDiscovery,
    prefix,
    definitions,
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
    questions,
    disabled,
    toolDiscovery,
    prefix,
    definitions,
    card,
  });
}
