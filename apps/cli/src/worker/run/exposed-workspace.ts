import { existsSync } from 'node:fs';
import type { Config } from '@signalbox/daemon/config';
import { builtInConfig, findConfig, heldBy, ownConfigDirectory } from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { loadFound } from '../../config/load-found.ts';
import type { ConnectionFlags } from '../../connection/connection.ts';
import type { TokenKind } from './identity.ts';

/**
 * Returns a warning if an agent that works in `cwd` has the data directory, the configuration or a token that is not its own
 * before it, as most agents may read and write all files there.
 */
export async function exposedWorkspace(
  cwd: string,
  flags: ConnectionFlags,
  { kind, env }: { kind: TokenKind; env: NodeJS.ProcessEnv },
): Promise<string | undefined> {
  const config = await brokerConfig(flags, env);
  const dataDir = dataDirectory(flags.data, config);
  const tokenFile = kind === 'plain' ? undefined : (flags.tokenFile ?? env.SIGNALBOX_TOKEN_FILE);
  const configFiles = Object.keys(config.files);
  const held = heldBy(cwd, {
    ...(existsSync(dataDir) && { dataDir }),
    tokenFiles: tokenFile ? [tokenFile] : [],
    configFiles,
  });
  if (held.length === 0) return undefined;
  const cure =
    heldBy(cwd, { configFiles }).length === 0
      ? ''
      : `, or move the configuration to ${ownConfigDirectory({ env })}, where all commands find it`;
  return (
    `its working directory ${cwd} holds ${held.join(' and ')}: an agent that reads or writes files there can act as ` +
    `others and change what runs. Start it in a directory without them${cure}`
  );
}

/** Reads the configuration as the connection did. One that the connection did not need may be broken; then it does not count. */
async function brokerConfig(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<Config> {
  try {
    return await loadFound(findConfig(flags.config, { env }), { env, parts: ['broker'] });
  } catch {
    return builtInConfig();
  }
}
