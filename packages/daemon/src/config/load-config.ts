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
