import { type Config, loadConfig, readableByOthers } from '@signalbox/config';
import {
  dataDirectory,
  localBrokerUrl,
  operatorToken,
  readTokenFile,
  tokenInText,
} from '@signalbox/daemon/data-directory';
import { agentOf, agentOfToken, isAddress, parseBrokerAddress, SignalboxError } from '@signalbox/protocol';
import { printNotes } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';

/** The options that say how a command reaches the broker. */
export interface ConnectionFlags {
  url?: string;
  /** Allows plain `ws://` to another machine. */
  insecure?: boolean;
  tokenFile?: string;
  agent?: string;
  config?: string;
  data?: string;
}

/** The broker and the identity of a connection. `agent` is an address: an agent id, or one of its sub-inboxes. */
export interface Connection {
  url: string;
  /** Whether plain `ws://` to another machine is allowed. */
  insecure: boolean;
  token: string;
  agent: string;
  /**
   * The agents that a minting token may issue tokens for, as in `ci-*`; absent for any other token. With such a token `agent`
   * is an agent id under the pattern, and has no sub-inbox.
   */
  mintingPattern?: string;
  /** Agent id of the orchestrator that serves tools. */
  orchestrator: string;
  /** The broker's data directory, if its operator's token was found there: the broker is on this machine. */
  dataDir?: string;
}

interface FoundToken {
  token: string;
  /** The address of the broker in the token file. */
  url?: string;
  from: 'flag' | 'environment' | 'data directory';
  /** The file that holds it, if an option or the environment names one. */
  file?: string;
}

/**
 * Decides url, token and agent: by options first, then `SIGNALBOX_*`, then the configuration and the data directory.
 * Rejects with `usage` or `bad_config`, which says what is missing. Warns of a token file that other users may read.
 */
export async function resolveConnection(
  flags: ConnectionFlags,
  env: NodeJS.ProcessEnv = process.env,
  warn: (text: string) => void = (text) => printNotes(`signalbox: ${text}`),
): Promise<Connection> {
  const config = await loadConfig(flags.config, { env, parts: ['broker', 'orchestrator'] });
  const url = brokerUrl(flags, config, env);
  const found = findToken(flags, config, url, env);
  const { file } = found;
  if (file !== undefined && readableByOthers(file)) {
    warn(
      `other users may read the token file ${file}: chmod 600 ${shellWords(file)}, and issue a new token if others use this machine`,
    );
  }
  const agent = agentFor(flags, found, env);
  if (!isAddress(agent)) {
    throw new SignalboxError(
      'usage',
      `'${agent}' is not an agent id; ids are lower-case, as in 'researcher-1'`,
    );
  }
  const mintingPattern = mintingPatternOf(found.token);
  return {
    url,
    insecure: flags.insecure ?? false,
    token: found.token,
    agent,
    ...(mintingPattern !== undefined && { mintingPattern }),
    orchestrator: config.orchestrator.id,
    ...(found.from === 'data directory' && { dataDir: dataDirectory(flags.data, config) }),
  };
}

/**
 * Decides the broker's address: the option, `SIGNALBOX_URL`, the broker of the data directory if an option names that, the address in
 * the token file, the broker of the user's own data directory. Throws `bad_broker_url` or `insecure_url`.
 */
export function brokerUrl(
  flags: ConnectionFlags,
  config: Config,
  env: NodeJS.ProcessEnv = process.env,
): string {
  const text =
    flags.url ??
    nonEmpty(env.SIGNALBOX_URL) ??
    (namesBroker(flags) ? undefined : namedToken(flags, env)?.url) ??
    localBrokerUrl(dataDirectory(flags.data, config), config);
  return parseBrokerAddress(text, { insecure: flags.insecure ?? false }).url;
}

/** Returns true if an option names the data directory of the broker. */
function namesBroker({ config, data }: ConnectionFlags): boolean {
  return config !== undefined || data !== undefined;
}

/** Returns true if the environment names an agent: then the operator's token of this machine is not used. */
export function hasAgentEnvironment(env: NodeJS.ProcessEnv): boolean {
  return ['SIGNALBOX_AGENT', 'SIGNALBOX_TOKEN', 'SIGNALBOX_TOKEN_FILE'].some(
    (name) => env[name] !== undefined,
  );
}

/** Returns the token that an option or the environment names, if one does. */
export function namedToken(flags: ConnectionFlags, env: NodeJS.ProcessEnv): FoundToken | undefined {
  if (flags.tokenFile !== undefined) {
    return { ...readTokenFile(flags.tokenFile), from: 'flag', file: flags.tokenFile };
  }
  const file = nonEmpty(env.SIGNALBOX_TOKEN_FILE);
  if (file !== undefined) return { ...readTokenFile(file), from: 'environment', file };
  const text = nonEmpty(env.SIGNALBOX_TOKEN);
  return text === undefined ? undefined : { ...tokenInText(text, 'SIGNALBOX_TOKEN'), from: 'environment' };
}

function findToken(flags: ConnectionFlags, config: Config, url: string, env: NodeJS.ProcessEnv): FoundToken {
  const named = namedToken(flags, env);
  if (named) return named;
  if (!namesBroker(flags)) {
    throw new SignalboxError('usage', 'no token to connect with', {
      details: {
        hint: 'pass --token-file FILE, or set SIGNALBOX_TOKEN_FILE, or act as the operator on the broker’s machine with --config FILE or --data DIR',
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
  return { token: operatorToken(dataDirectory(flags.data, config), url), from: 'data directory' };
}

function agentFor(flags: ConnectionFlags, { token, from }: FoundToken, env: NodeJS.ProcessEnv): string {
  if (from === 'data directory') {
    if (flags.agent === undefined || agentOf(flags.agent) === 'operator') return flags.agent ?? 'operator';
    throw new SignalboxError('usage', `no token for agent '${flags.agent}'`, {
      details: { hint: 'pass its token with --token-file; the data directory only gives the operator’s' },
    });
  }
  const inToken = agentOfToken(token) ?? mintingAgentOf(token);
  const inEnvironment = nonEmpty(env.SIGNALBOX_AGENT);
  const agent = flags.agent ?? (from === 'flag' ? (inToken ?? inEnvironment) : (inEnvironment ?? inToken));
  if (agent !== undefined) return agent;
  throw new SignalboxError('usage', 'the token does not say which agent it is for', {
    details: { hint: 'name it with --agent NAME or SIGNALBOX_AGENT' },
  });
}

/** Returns the pattern of agents in the text of a minting token, as in `ci-*`; `undefined` for any other token. */
function mintingPatternOf(token: string): string | undefined {
  return /^sbx_([^~*]+\*)~/.exec(token)?.[1];
}

/** Returns an agent id under the pattern of a minting token: the broker accepts the token for no other name. */
function mintingAgentOf(token: string): string | undefined {
  return mintingPatternOf(token)?.replace('*', 'minting');
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
