import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { writableByOthers } from '../exposure/writable-by-others.ts';

/** The names under which a directory is searched for a configuration, in this order. */
export const configFileNames = ['signalbox.yaml', 'signalbox.yml', 'signalbox.json'] as const;

/** The configuration that a command uses. */
export interface FoundConfig {
  /** The path as an option or the environment names it; the name alone for a file in the working directory; else an absolute path. */
  file: string;
  /** The way in which the file was found. Nobody named a file that a search found: the author of a directory may have placed it there. */
  by: 'option' | 'environment' | 'search';
  /** Other configurations in its directory that the search passed over, by their names. */
  passedOver?: string[];
}

/** The place where a search starts. */
export interface SearchStart {
  env?: Readonly<Record<string, string | undefined>>;
  /** An absolute path. */
  cwd?: string;
  home?: string;
  /** False if only the option and the environment count. */
  search?: boolean;
}

/**
 * Finds the configuration: the one that is named, else that of `SIGNALBOX_CONFIG`, else the one in the working directory or
 * in the nearest directory above it, else the user's own. The search upwards ends at the home directory, at the border of a file
 * system and below a directory of another user. Throws `SignalboxError` `usage` if other users could have written the file that is
 * found outside the working directory.
 */
export function findConfig(named: string | undefined, start: SearchStart = {}): FoundConfig | undefined {
  const { env = process.env, search = true } = start;
  if (named !== undefined) return { file: named, by: 'option' };
  if (env.SIGNALBOX_CONFIG) return { file: env.SIGNALBOX_CONFIG, by: 'environment' };
  if (!search) return undefined;
  const { cwd = process.cwd(), home = homedir() } = start;
  for (const directory of [...directoriesUpFrom(cwd, home), ownConfigDirectory({ env, home })]) {
    const [name, ...passedOver] = configFileNames.filter((one) => existsSync(join(directory, one)));
    if (name === undefined) continue;
    const file = directory === cwd ? name : trusted(join(directory, name));
    return { file, by: 'search', ...(passedOver.length > 0 && { passedOver }) };
  }
  return undefined;
}

/**
 * Returns the directory of the user's own configuration, which counts where no directory has one: `$XDG_CONFIG_HOME/signalbox`, by
 * default `~/.config/signalbox`. No agent works there.
 */
export function ownConfigDirectory({ env = process.env, home = homedir() }: SearchStart = {}): string {
  const { XDG_CONFIG_HOME: config } = env;
  return join(config && isAbsolute(config) ? config : join(home, '.config'), 'signalbox');
}

/** Returns the root of the git repository that a directory is in, below the home directory; `undefined` if it is in none. */
export function repositoryOf({
  cwd = process.cwd(),
  home = homedir(),
}: SearchStart = {}): string | undefined {
  for (const directory of directoriesUpFrom(cwd, home)) {
    // A home directory under version control makes no project of the folders in it.
    if (directory === settled(home) && directory !== cwd) return undefined;
    if (existsSync(join(directory, '.git'))) return directory;
  }
  return undefined;
}

/** Says where the search found no configuration. */
export function searchedText(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return `there is no signalbox.yaml here, in a parent folder or in ${ownConfigDirectory({ env })}${env.SIGNALBOX_CONFIG ? '' : ', and SIGNALBOX_CONFIG is not set'}`;
}

function* directoriesUpFrom(cwd: string, home: string): Generator<string> {
  const { dev } = statSync(cwd);
  const last = settled(home);
  for (let directory = cwd; ; directory = dirname(directory)) {
    yield directory;
    const parent = dirname(directory);
    if (directory === last || parent === directory) return;
    const found = statSync(parent);
    if (found.dev !== dev || (found.uid !== 0 && found.uid !== process.getuid?.())) return;
  }
}

function settled(directory: string): string {
  return existsSync(directory) ? realpathSync(directory) : directory;
}

function trusted(file: string): string {
  const why = writableByOthers(file);
  if (why === undefined) return file;
  throw new SignalboxError('usage', `${file} is not used: ${why}, so another user could decide what runs`, {
    details: { file, hint: 'if it is the right one, name it with --config or SIGNALBOX_CONFIG' },
  });
}
