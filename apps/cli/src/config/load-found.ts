import { realpathSync } from 'node:fs';
import { basename, isAbsolute, resolve } from 'node:path';
import { type Config, type LoadOptions, loadConfig } from '@signalbox/daemon/config';
import {
  builtInConfig,
  type FoundConfig,
  loadPlace,
  namedDataDirectories,
} from '@signalbox/daemon/config/internal';
import { dataDirectory, runningBroker } from '@signalbox/daemon/data-directory';
import { SignalboxError } from '@signalbox/protocol';
import { shellWords } from '../terminal/shell-words.ts';

/**
 * Loads the configuration that was found, or the built-in one. Rejects with `bad_config`; the error says how the file was found where the
 * user did not name it on the command line.
 */
export async function loadFound(found: FoundConfig | undefined, options: LoadOptions = {}): Promise<Config> {
  try {
    const config = await loadConfig(found?.file, options);
    return { ...config, warnings: [...passedOverWarnings(found), ...config.warnings] };
  } catch (error) {
    const hint = found && error instanceof SignalboxError ? hintOf(found) : undefined;
    if (hint === undefined) throw error;
    const { code, message, details } = error as SignalboxError;
    throw new SignalboxError(code, message, { cause: error, details: { ...details, hint } });
  }
}

/**
 * Loads what a command needs to reach the broker of the configuration that was found. Mistakes in the file that leave no doubt where the
 * broker is are only a warning: an operator must be able to stop agents while somebody edits the file. Rejects with `bad_config`, and the
 * command line that needs no configuration, if there is a doubt.
 */
export async function loadBrokerPlace(
  found: FoundConfig | undefined,
  {
    env,
    warn,
    argv = process.argv.slice(2),
  }: { env: NodeJS.ProcessEnv; warn: (text: string) => void; argv?: string[] },
): Promise<Config> {
  try {
    return await loadFound(found, { env, parts: ['broker', 'orchestrator'] });
  } catch (error) {
    if (!found || !(error instanceof SignalboxError) || error.code !== 'bad_config') throw error;
    const { file } = found;
    const place = await loadPlace(file, env);
    const [first, ...others] = error.message.split('\n');
    if (place) {
      const more = others.length > 0 ? `, and ${others.length} more` : '';
      warn(`warning: only where the broker is was read from ${file}, which has mistakes: ${first}${more}`);
      return place;
    }
    const unknown = `it can't be told for certain where the broker is, and no other one is taken; name its data directory: ${withoutConfig(argv, await brokerDirectory(file, env))}`;
    const hint = [error.details.hint, unknown].filter((text) => typeof text === 'string').join('; ');
    const details = { ...error.details, hint };
    throw new SignalboxError('bad_config', error.message, { cause: error, details });
  }
}

/** Returns the only directory that a broken file may mean and on which a broker runs. */
async function brokerDirectory(file: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const named = await namedDataDirectories(file);
  const directories = named.length > 0 ? named : [dataDirectory(undefined, builtInConfig(), env)];
  const running = directories.filter((directory) => runningBroker(directory) !== undefined);
  return running.length === 1 ? running[0] : undefined;
}

/** Writes a command line anew, with a data directory in place of a configuration. */
function withoutConfig(argv: readonly string[], directory: string | undefined): string {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const kept = argv
    .slice(0, end)
    .filter(
      (word, at) => word !== '--config' && argv[at - 1] !== '--config' && !word.startsWith('--config='),
    );
  const data = directory === undefined ? '--data DIR' : `--data ${shellWords(directory)}`;
  return [shellWords('signalbox', ...kept), data, shellWords(...argv.slice(end))].join(' ').trim();
}

/**
 * Returns the configuration of the system that runs on a data directory, if it is another one than `file`: configurations that name no data
 * directory share one.
 */
export function othersConfig(dataDir: string, file: string | undefined): string | undefined {
  const runs = runningBroker(dataDir)?.config;
  return runs === undefined || isSameFile(runs, file) ? undefined : runs;
}

/** Tells whether the file that a system runs is another name of a file. */
export function isSameFile(runs: string | undefined, file: string | undefined): boolean {
  if (runs === undefined || file === undefined) return false;
  try {
    return realpathSync(runs) === realpathSync(file);
  } catch {
    // The one that it runs may be gone.
    return resolve(runs) === resolve(file);
  }
}

/** Warns of configurations beside the one that was found: a change of them has no effect. */
function passedOverWarnings(found: FoundConfig | undefined): string[] {
  if (!found?.passedOver) return [];
  const others = found.passedOver.join(' and ');
  return [
    `${found.file} is used, and ${others} beside it is not read: move what it says into ${basename(found.file)} and remove it, or name the right one with --config`,
  ];
}

/** Says how a file was found that the user did not name and that does not lie in the working directory. */
function hintOf({ file, by }: FoundConfig): string | undefined {
  if (by === 'environment') return 'SIGNALBOX_CONFIG names this file; --config names another';
  return by === 'search' && isAbsolute(file)
    ? 'the file was found because none is in this folder; --config or SIGNALBOX_CONFIG names another'
    : undefined;
}
