import type { Config, ConfigPart } from '@signalbox/daemon/config';
import { findConfig } from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { brokerPlace, type ConnectionFlags, hasAddress } from '../connection/connection.ts';
import { loadFound, othersConfig } from './load-found.ts';

/** The parts of a configuration that go with a broker, and the file that they stand in. */
export type ConfigBeside = Config & { file: string };

/**
 * Reads parts of the configuration that goes with the broker at `url`: the one that an option names, else the one that is found, if it
 * is of that broker. Resolves with `undefined` if there is none. Rejects with `bad_config`.
 */
export async function configBeside(
  flags: ConnectionFlags,
  url: string,
  parts: readonly ConfigPart[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<ConfigBeside | undefined> {
  const found = findConfig(flags.config, { env });
  if (!found) return undefined;
  const config = await loadFound(found, { env, parts: ['broker', ...parts] });
  // Configurations that name no data directory have the same address.
  const isOfBroker =
    flags.config !== undefined ||
    (hasAddress(url, brokerPlace({}, { found, config }, {}).url) &&
      othersConfig(dataDirectory(undefined, config, env), found.file) === undefined);
  return isOfBroker ? { ...config, file: found.file } : undefined;
}
