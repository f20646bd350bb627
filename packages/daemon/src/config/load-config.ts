import { builtInConfig, type Config } from './config.ts';
import type { LoadOptions } from './read-config.ts';

/**
 * Checks a text that would be the configuration file `named`, and returns the configuration that it would give. Rejects as
 * {@link loadConfig}.
 */
export async function checkConfigText(text: string, named: string): Promise<Config> {
  const { readConfigText } = await import('./read-config.ts');
  return readConfigText(text, named);
}

/**
 * Loads a configuration file with all files that it names; `undefined` gives the built-in defaults.
 * Rejects with a `SignalboxError` `bad_config`, whose message has one line per problem: `file:line: path: message`.
 */
export async function loadConfig(file: string | undefined, options: LoadOptions = {}): Promise<Config> {
  if (file === undefined) return builtInConfig();
  // Most commands read no file, and start sooner without YAML and the schemas.
  const { readConfig } = await import('./read-config.ts');
  return readConfig(file, options);
}

/**
 * Reads where the broker of a configuration file with mistakes is, as {@link readPlace}. Resolves with `undefined` if that can't be told.
 */
export async function loadPlace(file: string, env: NodeJS.ProcessEnv): Promise<Config | undefined> {
  const { readPlace } = await import('./read-place.ts');
  return readPlace(file, env);
}

/** Lists the data directories that a configuration file names, however broken it is; none if it can't be read. */
export async function namedDataDirectories(file: string): Promise<string[]> {
  const { dataDirectoriesIn } = await import('./read-place.ts');
  return dataDirectoriesIn(file);
}
