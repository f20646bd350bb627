import type { Config } from '@signalbox/daemon/config';
import {
  builtInConfig,
  type FoundConfig,
  findConfig,
  type SearchStart,
  searchedText,
} from '@signalbox/daemon/config/internal';
import {
  dataDirectory,
  localBrokerUrl,
  operatorToken,
  runningAddresses,
} from '@signalbox/daemon/data-directory';
import { agentOf, isAddress, mintingPatternOf, SignalboxError } from '@signalbox/protocol';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';
import { loadBrokerPlace, othersConfig } from '../config/load-found.ts';
import { printNotes } from '../terminal/output.ts';
import { type Authorities, authoritiesFor } from './authorities.ts';
import {
  type AddressOrigin,
  type BrokerPlace,
  type ConnectionFlags,
  exposedTokenFile,
  type FoundToken,
  knownAddress,
  namedAgent,
  namedToken,
  namesBroker,
} from './named-identity.ts';

export { type AddressOrigin, type ConnectionFlags, namedToken } from './named-identity.ts';

/** The broker and the identity of a connection. `agent` is an address: an agent id, or one of its sub-inboxes. */
export interface Connection {
  /** The broker's address, or several that are separated by commas. */
  url: string;
  from: AddressOrigin;
  /** True if plain `ws://` to another machine is allowed. */
  insecure: boolean;
  /** The only authorities to trust for `wss://`, if an option or the environment names them. */
  authorities?: Authorities;
  token: string;
  /** The file that holds the token, if an option or the environment names one. */
  tokenFile?: string;
  agent: string;
  /**
   * The agents that a minting token may issue tokens for, as in `ci-*`; absent for any other token. With such a token `agent`
   * is an agent id under the pattern, and has no sub-inbox.
   */
  mintingPattern?: string;
  /** Tells the agent id of the orchestrator that serves tools. It may read a configuration, which most commands do without. */
  orchestrator: () => Promise<string>;
  /** The broker's data directory, if its operator's token was found there: the broker is on this machine. */
  dataDir?: string;
}

/** Selects how the configuration is found: `search: false` leaves out the working directory and those above it. */
export type ConnectionSearch = Omit<SearchStart, 'env'>;

/** The configuration that a command found, read. */
export interface ReadConfig {
  found: FoundConfig | undefined;
  config: Config;
}

/**
 * Decides url, token and agent: by options first, then `SIGNALBOX_*` and what the token file holds, then the configuration that is found
 * and its data directory. Rejects with `usage` or `bad_config`, which says what is missing. Warns of a token file that other users may
 * read.
 */
export async function resolveConnection(
  flags: ConnectionFlags,
  env: NodeJS.ProcessEnv = process.env,
  {
    warn = (text: string) => printNotes(`signalbox: ${text}`),
    ...search
  }: ConnectionSearch & { warn?: (text: string) => void } = {},
): Promise<Connection> {
  const start = { ...search, env };
  const named = namedToken(flags, env);
  const known = knownAddress(flags, named, env);
  const lone = named === undefined && known === undefined ? loneDirectory(flags, start) : undefined;
  if (lone !== undefined) {
    warn(`this is about the broker on ${lone}: ${searchedText(env)}`);
    return await resolveConnection({ ...flags, data: lone }, env, { ...search, warn });
  }
  // A configuration that nobody named is not needed if the address or the data directory is known.
  const isNeeded = flags.config !== undefined || (known === undefined && flags.data === undefined);
  const read = isNeeded
    ? await readConfig(flags, start, warn)
    : flags.data === undefined
      ? undefined
      : { found: undefined, config: builtInConfig() };
  const { url, from } = checked(known ?? localBroker(flags, read!), flags);
  if (known === undefined && flags.data === undefined) warnOfOther(read!, warn);
  const found = named ?? ownToken(flags, url, read, env);
  const { file } = found;
  const exposed = exposedTokenFile(found);
  if (exposed !== undefined) warn(exposed);
  const agent = agentFor(flags, found, env);
  if (!isAddress(agent)) {
    throw new SignalboxError(
      'usage',
      `'${agent}' is not an agent id; ids are lower-case, as in 'researcher-1'`,
    );
  }
  const mintingPattern = mintingPatternOf(found.token);
  const authorities = authoritiesFor(url, flags, env);
  let orchestrator: string | Promise<string> | undefined;
  return {
    url,
    from,
    insecure: flags.insecure ?? false,
    ...(authorities && { authorities }),
    token: found.token,
    ...(file !== undefined && { tokenFile: file }),
    agent,
    ...(mintingPattern !== undefined && { mintingPattern }),
    orchestrator: async () => {
      orchestrator ??= isNeeded ? read!.config.orchestrator.id : orchestratorBeside(url, start);
      return await orchestrator;
    },
    ...(found.from === 'data directory' && { dataDir: dataDirectory(flags.data, read!.config) }),
  };
}

/**
 * Decides the broker's address: the option, `SIGNALBOX_URL`, the broker of the data directory if an option names that, the address in
 * the token file, the broker of the configuration. Throws `bad_broker_url` or `insecure_url`.
 */
export function brokerPlace(
  flags: ConnectionFlags,
  read: ReadConfig,
  env: NodeJS.ProcessEnv = process.env,
): BrokerPlace {
  return checked(knownAddress(flags, namedToken(flags, env), env) ?? localBroker(flags, read), flags);
}

function checked({ url, from }: BrokerPlace, { insecure = false }: ConnectionFlags): BrokerPlace {
  const addresses = parseBrokerAddresses(url, { insecure });
  return { url: addresses.map((address) => address.url).join(','), from };
}

/** Returns whether the addresses of a connection, as {@link Connection} holds them, are or include an address. */
export function hasAddress(url: string, address: string): boolean {
  return url.split(',').includes(address);
}

/** Returns the address of the broker whose data directory is on this machine. */
function localBroker(flags: ConnectionFlags, { found, config }: ReadConfig): BrokerPlace {
  const directory = dataDirectory(flags.data, config);
  const isNamed = found?.by !== 'search';
  const from: AddressOrigin =
    flags.data === undefined && found
      ? { by: 'configuration', name: found.file }
      : { by: 'data directory', name: directory };
  return { url: localBrokerUrl(directory, config, { isNamed }), from };
}

/**
 * Returns the data directory of a user without a configuration, if a broker runs on it, nothing else says which broker is meant, and the
 * asker is no agent.
 */
function loneDirectory(flags: ConnectionFlags, start: SearchStart): string | undefined {
  const { env = process.env } = start;
  if (namesBroker(flags) || hasAgentEnvironment(env) || findConfig(undefined, start)) return undefined;
  const directory = dataDirectory(undefined, builtInConfig(), env);
  const { url, socket } = runningAddresses(directory, { isNamed: false });
  return url === undefined && socket === undefined ? undefined : directory;
}

/** Says which system a command acts on if it is not that of the configuration here. */
function warnOfOther({ found, config }: ReadConfig, warn: (text: string) => void): void {
  const dataDir = dataDirectory(undefined, config);
  const other = found && othersConfig(dataDir, found.file);
  if (other === undefined) return;
  warn(
    `this is about the system of ${other}, which runs on ${dataDir}, and not about ${found?.file}: with broker.data that gets a system of its own`,
  );
}

/** Reads the configuration that the options name or that is found, the parts that a connection needs. */
async function readConfig(
  flags: ConnectionFlags,
  start: SearchStart,
  warn: (text: string) => void,
): Promise<ReadConfig> {
  const found = findConfig(flags.config, start);
  const { env = process.env } = start;
  try {
    return { found, config: await loadBrokerPlace(found, { env, warn }) };
  } catch (error) {
    // With the data directory nothing of the file is needed.
    if (flags.data === undefined || !(error instanceof SignalboxError)) throw error;
    warn(`warning: ${error.message}`);
    return { found: undefined, config: builtInConfig() };
  }
}

/**
 * Returns the agent id of the orchestrator in the configuration that is found, if that configuration belongs to the broker at `url`. A
 * broken configuration is ignored, because the broker can be reached without it.
 */
async function orchestratorBeside(url: string, start: SearchStart): Promise<string> {
  try {
    const read = await readConfig({}, start, () => {});
    if (hasAddress(url, localBroker({}, read).url)) return read.config.orchestrator.id;
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
  }
  return builtInConfig().orchestrator.id;
}

/** Returns true if the environment names an agent: then the operator's token of this machine is not used. */
export function hasAgentEnvironment(env: NodeJS.ProcessEnv): boolean {
  return ['SIGNALBOX_AGENT', 'SIGNALBOX_TOKEN', 'SIGNALBOX_TOKEN_FILE'].some(
    (name) => env[name] !== undefined,
  );
}

/** Returns the options with which another command reaches the same broker as the same agent. */
export function sameConnection({ url, tokenFile, agent, config, data }: ConnectionFlags): string[] {
  const named = { url, 'token-file': tokenFile, agent, config, data };
  return Object.entries(named).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option}`, value],
  );
}

/**
 * Returns the operator's token of the data directory that an option names or that the configuration leads to. `read` is absent if the
 * address of the broker came from elsewhere: that broker must not get the token of another one.
 */
function ownToken(
  flags: ConnectionFlags,
  url: string,
  read: ReadConfig | undefined,
  env: NodeJS.ProcessEnv,
): FoundToken {
  if (!read?.found && !namesBroker(flags)) {
    throw new SignalboxError('usage', `no token to connect with: ${missingText(read, env)}`, {
      details: {
        hint: `${read ? 'go to the folder with signalbox.yaml; elsewhere ' : ''}pass --token-file FILE, or set SIGNALBOX_TOKEN_FILE, or act as the operator on the broker’s machine with --config FILE or --data DIR`,
      },
    });
  }
  if (hasAgentEnvironment(env)) {
    throw new SignalboxError('usage', 'SIGNALBOX_AGENT is set, so the operator token is left alone', {
      details: {
        hint: 'pass the agent’s own token with --token-file, or unset SIGNALBOX_AGENT to act as the operator',
      },
    });
  }
  return { token: operatorToken(dataDirectory(flags.data, read!.config), url), from: 'data directory' };
}

function missingText(read: ReadConfig | undefined, env: NodeJS.ProcessEnv): string {
  return read
    ? searchedText(env)
    : 'where --url or SIGNALBOX_URL names the broker, the operator’s token of a configuration is used only if --config names it';
}

function agentFor(flags: ConnectionFlags, found: FoundToken, env: NodeJS.ProcessEnv): string {
  if (found.from !== 'data directory') return namedAgent(flags, found, env);
  if (flags.agent === undefined || agentOf(flags.agent) === 'operator') return flags.agent ?? 'operator';
  throw new SignalboxError('usage', `no token for agent '${flags.agent}'`, {
    details: { hint: 'pass its token with --token-file; the data directory only gives the operator’s' },
  });
}
