import { existsSync } from 'node:fs';
import { builtInConfig, type Config } from './config.ts';
import type { LoadOptions } from './load-config.ts';

/** The file that daemons read where none is named. */
const defaultConfigFile = 'signalbox.yaml';

/** `named`, or `signalbox.yaml` in the working directory where there is one. */
export function findConfigFile(named: string | undefined): string | undefined {
  return named ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
}

/**
 * The configuration of a file, or the defaults where there is none: then nothing that reads a file is loaded.
 * Rejects as `loadConfig` throws.
 */
export async function configInForce(file: string | undefined, options?: LoadOptions): Promise<Config> {
  if (file === undefined) return builtInConfig();
  const { loadConfig } = await import('./load-config.ts');
  return loadConfig(file, options);
}
