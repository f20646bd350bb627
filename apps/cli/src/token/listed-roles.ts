import { type ListedToken, listTokens, queryOrchestrator } from '@signalbox/client/operator';
import type { ConfigPart } from '@signalbox/daemon/config';
import {
  exposedTokens,
  type ListedRoles,
  roleWarning,
  strandedRoles,
} from '@signalbox/daemon/config/internal';
import { SignalboxError } from '@signalbox/protocol';
import { suggestion } from '@signalbox/protocol/internal';
import { type ConfigBeside, configBeside } from '../config/config-beside.ts';
import type { ConnectedClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';

/**
 * Reads the roles of the configuration that goes with the broker at `url`. Returns `undefined` if there is none, or if it cannot be read.
 */
export async function listedRoles(
  flags: ConnectionFlags,
  url: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ListedRoles | undefined> {
  return await partsBeside(flags, url, ['roles', 'unlisted'], env);
}

/** The wait for the roles of the orchestrator, in milliseconds. */
const rolesMs = 2000;

/**
 * Warns of tokens whose role the configuration in force does not list: that of the orchestrator, wherever the command runs. If it does not
 * answer, it is the configuration that goes with the broker, as far as it is known.
 */
export async function strandedTokens(
  { client, connection }: Pick<ConnectedClient, 'client' | 'connection'>,
  flags: ConnectionFlags,
  { tokens, orchestrator }: { tokens: readonly ListedToken[]; orchestrator: string },
): Promise<string[]> {
  const inForce = await queryOrchestrator(
    client,
    orchestrator,
    { op: 'matrix' },
    { timeoutMs: rolesMs },
  ).then(
    ({ roles, unlisted }): ListedRoles => ({
      roles: Object.fromEntries(roles.map((role) => [role, {}])),
      unlisted: unlisted ? 'allow' : 'deny',
      file: 'the configuration in force',
    }),
    () => undefined,
  );
  return strandedRoles(tokens, inForce ?? (await listedRoles(flags, connection.url)));
}

/**
 * Checks a role whose list an operator asks for. Returns a warning if only tokens have it, and rejects with `usage` if nothing names it:
 * then it is misspelt. `undefined` if the configuration lists it, or is not known here.
 */
export async function askedRole(
  { client, connection }: Pick<ConnectedClient, 'client' | 'connection'>,
  flags: ConnectionFlags,
  role: string,
): Promise<string | undefined> {
  const listed = await listedRoles(flags, connection.url);
  const warning = listed && roleWarning(role, listed);
  if (warning === undefined) return undefined;
  const tokens = await listTokens(client);
  if (tokens.some((token) => token.role === role || token.roles?.includes(role))) return warning;
  throw new SignalboxError('usage', `${warning}; no token has it either`, {
    details: { hint: 'signalbox tools matrix shows the roles, and what each may use' },
  });
}

/** Lists the groups of the configuration that goes with the broker at `url`, as in `group:press`. Returns `undefined` if it is not known. */
export async function listedGroups(flags: ConnectionFlags, url: string): Promise<string[] | undefined> {
  const config = await partsBeside(flags, url, ['groups', 'roles'], process.env);
  return config && Object.keys(config.groups).map((name) => `group:${name}`);
}

/** Says which hosted servers of the configuration that goes with the broker at `url` could read a new token file. */
export async function reachableWarnings(
  file: string,
  flags: ConnectionFlags,
  url: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string[]> {
  const config = await partsBeside(flags, url, ['mcpConfig', 'mcpServers'], env);
  return config
    ? exposedTokens(config, [file]).map((text) => `${text}: write it to a folder that no server is given`)
    : [];
}

/** Warns of a label that the configuration that goes with the broker at `url` does not name. */
export async function hostWarnings(
  label: string,
  flags: ConnectionFlags,
  url: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string[]> {
  const config = await partsBeside(flags, url, ['hosts', 'mcpConfig', 'mcpServers'], env);
  if (!config || Object.hasOwn(config.hosts, label)) return [];
  const hint = `add what it may offer, as hosts: { ${label}: [SERVER] }, or host: ${label} to a server`;
  return [
    `${config.file} does not name the label '${label}'${suggestion(label, Object.keys(config.hosts))}, so nothing of its orchestrator is served: ${hint}`,
  ];
}

async function partsBeside(
  flags: ConnectionFlags,
  url: string,
  parts: readonly ConfigPart[],
  env: NodeJS.ProcessEnv,
): Promise<ConfigBeside | undefined> {
  try {
    return await configBeside(flags, url, parts, env);
  } catch (error) {
    if (error instanceof SignalboxError) return undefined;
    throw error;
  }
}
