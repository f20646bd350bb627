import { readableByOthers } from '@signalbox/daemon/config/readable-by-others';
import { readTokenFile, tokenInText } from '@signalbox/daemon/token-file';
import { agentOfToken, isJwt, mintingPatternOf } from '@signalbox/protocol/names';
import { SignalboxError } from '@signalbox/protocol/signalbox-error';
import { shellWords } from '../terminal/shell-words.ts';

/** The options that say how a command reaches the broker. */
export interface ConnectionFlags {
  url?: string;
  /** Allows plain `ws://` to another machine. */
  insecure?: boolean;
  /** The file with the certificates of the only authorities to trust for `wss://`. */
  caFile?: string;
  tokenFile?: string;
  agent?: string;
  config?: string;
  data?: string;
}

/** The source of the address of a broker. `name` is the option, the variable, the file or the directory. */
export interface AddressOrigin {
  by: 'option' | 'environment' | 'token file' | 'configuration' | 'data directory';
  name: string;
}

/** A token and where it was found. */
export interface FoundToken {
  token: string;
  /** The address of the broker in the token file. */
  url?: string;
  from: 'flag' | 'environment' | 'data directory';
  /** The file that holds it, if an option or the environment names one. */
  file?: string;
}

/** The address of a broker, or several that are separated by commas, and what named them. */
export interface BrokerPlace {
  url: string;
  from: AddressOrigin;
}

/** Returns the address that an option, the environment or the token file names. */
export function knownAddress(
  flags: ConnectionFlags,
  token: FoundToken | undefined,
  env: NodeJS.ProcessEnv,
): BrokerPlace | undefined {
  if (flags.url !== undefined) return { url: flags.url, from: { by: 'option', name: '--url' } };
  const url = nonEmpty(env.SIGNALBOX_URL);
  if (url !== undefined) return { url, from: { by: 'environment', name: 'SIGNALBOX_URL' } };
  if (namesBroker(flags) || token?.url === undefined) return undefined;
  return { url: token.url, from: { by: 'token file', name: token.file ?? 'SIGNALBOX_TOKEN' } };
}

/** Returns true if an option names the data directory of the broker. */
export function namesBroker({ config, data }: ConnectionFlags): boolean {
  return config !== undefined || data !== undefined;
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

/**
 * Returns the agent that an option, the environment or the token names, in this order. If an option names the token, the token comes
 * before the environment. A JWT never does, because the broker may take the agent from another claim than the one that is read here.
 * Throws `usage` if none of them names an agent. Does not check that the name is an address.
 */
export function namedAgent(
  flags: ConnectionFlags,
  { token, from, file = 'SIGNALBOX_TOKEN' }: FoundToken,
  env: NodeJS.ProcessEnv,
): string {
  const inToken = agentOfToken(token) ?? mintingAgentOf(token);
  const inEnvironment = nonEmpty(env.SIGNALBOX_AGENT);
  const isTokenFirst = from === 'flag' && !isJwt(token);
  const agent = flags.agent ?? (isTokenFirst ? (inToken ?? inEnvironment) : (inEnvironment ?? inToken));
  if (agent !== undefined) return agent;
  const problem = isJwt(token)
    ? `the token in ${file} does not say which agent it is for`
    : `${file} holds no token of Signalbox, which would begin with sbx_ and name its agent`;
  throw new SignalboxError('usage', problem, {
    details: {
      hint: isJwt(token)
        ? 'name it with --agent NAME or SIGNALBOX_AGENT'
        : 'issue one: signalbox token issue --agent NAME --role ROLE --out FILE; the agent of a token of another kind is named with --agent NAME',
    },
  });
}

/** Returns a warning if other users may read the file of a token. */
export function exposedTokenFile({ file }: Pick<FoundToken, 'file'>): string | undefined {
  if (file === undefined || !readableByOthers(file)) return undefined;
  return `other users may read the token file ${file}: chmod 600 ${shellWords(file)}, and issue a new token if others use this machine`;
}

/** Returns an agent id under the pattern of a minting token: the broker accepts the token for no other name. */
function mintingAgentOf(token: string): string | undefined {
  return mintingPatternOf(token)?.replace('*', 'minting');
}

/** Returns a text, or `undefined` for an empty one, which is an unset variable of a shell. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
