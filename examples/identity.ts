import { readFileSync } from 'node:fs';
import { agentOfToken, parseTokenFile } from '@signalbox/protocol';

/** The broker and the token that `connectBroker` and `McpProxyExecutor.connect` need. */
export interface Identity {
  url: string;
  token: string;
  agent: string;
}

/**
 * Reads our identity from the environment that `signalbox worker run` also gives: the token in the file that `variable` names, and
 * `SIGNALBOX_URL`, without which the file names the broker. Tokens travel in files, because arguments and environments are easily seen and
 * logged. A minting token names no single agent: then `agent` says which of its pattern to be.
 */
export function identityFrom(
  variable = 'SIGNALBOX_TOKEN_FILE',
  { agent, env = process.env }: { agent?: string; env?: NodeJS.ProcessEnv } = {},
): Identity {
  const { [variable]: file } = env;
  if (!file) throw new Error(`set ${variable} to the file that holds our token; npm run example does that`);
  const { token = '', url: ofFile } = parseTokenFile(readFileSync(file, 'utf8')) ?? {};
  const url = env.SIGNALBOX_URL || ofFile;
  if (!url) throw new Error(`set SIGNALBOX_URL to the broker's address, which ${file} does not name`);
  const named = agent ?? agentOfToken(token);
  if (named === undefined) throw new Error(`the token in ${file} (${variable}) names no single agent`);
  return { url, token, agent: named };
}
