import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { brokerFiles } from '@signalbox/broker/files';
import type { Config } from '@signalbox/daemon/config';
import { builtInConfig, type FoundConfig, findConfig } from '@signalbox/daemon/config/internal';
import { dataDirectory, orchestratorFiles } from '@signalbox/daemon/data-directory';
import { loadBrokerPlace, loadFound } from '../config/load-found.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import type { Machine } from './machine.ts';

/**
 * The configuration that was read. If it has mistakes, `problem` is the error, and `config` holds where the broker is, or only the defaults
 * if `isPlaceUnknown`.
 */
export interface ReadSetup {
  found: FoundConfig | undefined;
  config: Config;
  problem?: unknown;
  isPlaceUnknown?: true;
}

/** Finds and reads the configuration. Never rejects. */
export async function readSetup(flags: ConnectionFlags, { env, cwd, home }: Machine): Promise<ReadSetup> {
  let found: FoundConfig | undefined;
  try {
    found = findConfig(flags.config, { env, cwd, home });
    return { found, config: await loadFound(found, { env }) };
  } catch (problem) {
    const warn = (): void => {};
    const config = await loadBrokerPlace(found, { env, warn }).catch(() => undefined);
    return { found, config: config ?? builtInConfig(), problem, ...(!config && { isPlaceUnknown: true }) };
  }
}

/** Returns the data directory that an option or the configuration names. */
export function dataDirOf({ data }: ConnectionFlags, { config }: ReadSetup, { env }: Machine): string {
  return dataDirectory(data, config, env);
}

/** The most token files of a folder that are looked at. */
const maxTokenFiles = 20;

/** A token that was found. `file` is absent for the one in `SIGNALBOX_TOKEN`. */
export interface FoundToken {
  file?: string;
  /** True if an option or the environment names it. */
  isNamed: boolean;
  /** True if a command uses it: it is named, or lies in the data directory. */
  isUsed: boolean;
}

/**
 * Lists the tokens that can be found: the one that is named, those of the data directory, and each `*.token` here and beside the
 * configuration.
 */
export function tokensOf(
  { tokenFile }: ConnectionFlags,
  { found }: ReadSetup,
  { env, cwd }: Machine,
  dataDir: string,
): FoundToken[] {
  const folders = [cwd, ...(found ? [dirname(resolve(cwd, found.file))] : [])];
  const named = tokenFile ?? (env.SIGNALBOX_TOKEN_FILE || undefined);
  const own = [brokerFiles(dataDir).operatorToken, orchestratorFiles(dataDir).token].filter(existsSync);
  const tokens: FoundToken[] = [
    ...(named === undefined ? [] : [{ file: resolve(cwd, named), isNamed: true, isUsed: true }]),
    ...(env.SIGNALBOX_TOKEN ? [{ isNamed: true, isUsed: true }] : []),
    ...own.map((file) => ({ file, isNamed: false, isUsed: true })),
    ...folders.flatMap(tokensIn).map((file) => ({ file, isNamed: false, isUsed: false })),
  ];
  return tokens.filter(({ file }, at) => tokens.findIndex((other) => other.file === file) === at);
}

function tokensIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.token'));
    return names.slice(0, maxTokenFiles).map((name) => join(folder, name));
  } catch {
    return [];
  }
}
