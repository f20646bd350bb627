import type { HttpServerConfig, McpServerConfig, RemoteServerConfig } from '@signalbox/mcp-host';
import type { SecretMark } from '@signalbox/mcp-host/redaction';
import type { ReferredSecrets } from '../document/references.ts';
import type { McpServerEntry } from '../schema/server-schema.ts';
import { transportOf } from '../schema/transport.ts';
import { type ServerValue, textOf } from '../schema/value-schemas.ts';
import { withoutUndefined } from '../without-undefined.ts';

/** The options that every transport has. */
type ServerPolicy = Omit<HttpServerConfig, 'type' | 'url' | 'headers' | 'auth'>;

/**
 * Turns an entry whose paths are absolute into what the MCP host takes. `referred` has the secrets that references put into its texts;
 * `limits` and `definitions` hold where the entry sets none.
 */
export function hostServer(
  entry: McpServerEntry,
  referred: ReferredSecrets,
  { limits = {}, definitions }: Pick<McpServerEntry, 'limits' | 'definitions'> = {},
): McpServerConfig {
  const { command = '', args, env, inheritEnv, cwd, leaveDetached, url = '', headers, auth } = entry;
  const secrets = secretsOf(entry, referred);
  const policy = {
    ...policyOf({ ...entry, definitions: entry.definitions ?? definitions }),
    ...limitsOf({ ...limits, ...entry.limits }),
    ...(Object.keys(secrets).length > 0 && { secrets }),
  };
  if (transportOf(entry) === 'http') {
    return {
      type: 'http',
      url,
      ...(headers && { headers: textsOf(headers) }),
      ...(auth && { auth: withoutUndefined(auth) as NonNullable<HttpServerConfig['auth']> }),
      ...policy,
    };
  }
  return {
    type: 'stdio',
    command,
    ...(args && { args: args.map(textOf) }),
    ...(env && { env: textsOf(env) }),
    ...(inheritEnv && { inheritEnv }),
    ...(cwd !== undefined && { cwd }),
    ...(leaveDetached !== undefined && { leaveDetached }),
    ...policy,
  };
}

/**
 * Makes the configuration of a server that an orchestrator with a label hosts. What concerns its process is that orchestrator's; what is
 * offered of it, and how calls are made, is settled here.
 */
export function remoteServer(
  label: string,
  entry: McpServerEntry,
  { limits = {}, definitions }: Pick<McpServerEntry, 'limits' | 'definitions'> = {},
): RemoteServerConfig {
  const policy = policyOf({ ...entry, definitions: entry.definitions ?? definitions });
  const { share, lazy, keepAliveMs, maxRestarts, restartWindowMs, protocol, questions, card, ...own } =
    policy;
  return { type: 'remote', label, ...own, ...limitsOf({ ...limits, ...entry.limits }) };
}

function textsOf(values: Readonly<Record<string, ServerValue>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
}

/** Says which values are secrets, by their places: the decision in the entry, or else the secrets of references. */
function secretsOf(entry: McpServerEntry, referred: ReferredSecrets): Record<string, SecretMark> {
  const { args = [], env = {}, headers = {}, url, auth = {}, card } = entry;
  const values: [place: string, value: ServerValue | undefined][] = [
    ...args.map((value, at): [string, ServerValue] => [`args[${at}]`, value]),
    ...namedAs('env', env),
    ...namedAs('headers', headers),
    ['url', url],
    ...namedAs('auth', auth),
    ['card', card],
  ];
  return Object.fromEntries(
    values.flatMap(([place, value]) => {
      if (value === undefined) return [];
      const mark = typeof value === 'string' ? referred.get(value) : value.secret;
      return mark === undefined ? [] : [[place, mark]];
    }),
  );
}

function namedAs(
  section: string,
  values: Readonly<Record<string, ServerValue | undefined>>,
): [place: string, value: ServerValue | undefined][] {
  return Object.entries(values).map(([name, value]) => [`${section}.${name}`, value]);
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
    downWaitMs,
    protocol,
    questions,
    disabled,
    tool_discovery: toolDiscovery,
    includeTools,
    excludeTools,
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
    downWaitMs,
    protocol,
    questions,
    disabled,
    toolDiscovery,
    includeTools,
    excludeTools,
    prefix,
    definitions,
    card,
  });
}
