import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import type { Config } from './config/config.ts';

/** `$XDG_STATE_HOME/signalbox`, by default `~/.local/state/signalbox`. */
function defaultDataDirectory(env: NodeJS.ProcessEnv): string {
  const state = env.XDG_STATE_HOME;
  return join(state && isAbsolute(state) ? state : join(homedir(), '.local', 'state'), 'signalbox');
}

/** The data directory in force: the flag, then the config, then the default. Absolute. */
export function dataDirectory(flag: string | undefined, config?: Pick<Config, 'broker'>): string {
  return flag === undefined ? (config?.broker.data ?? defaultDataDirectory(process.env)) : resolve(flag);
}

/** What a broker or an orchestrator leaves in its data directory, and what a file system may. */
const ownFiles = ['lock.db', 'messages.db', 'tokens.db', 'operator.token', 'journal.db', 'lost+found'];

/**
 * Refuses to make a data directory of what is somebody else's folder: a broker takes it for itself alone (0700), which
 * would shut others out of a home or temporary folder. Rejects with `bad_data_directory`; changes nothing.
 */
export async function checkDataDirectory(directory: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(directory);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    // What is not there yet is made; what cannot be read is the store's to explain.
    if (code !== 'ENOTDIR') return;
    throw badDataDirectory(`${directory} is no directory`, cause);
  }
  if (names.length === 0 || names.some((name) => ownFiles.includes(name))) return;
  throw badDataDirectory(`${directory} holds other files and no data of a broker`);
}

function badDataDirectory(message: string, cause?: unknown): SignalboxError {
  return new SignalboxError('bad_data_directory', message, {
    cause,
    details: { hint: 'name an empty or a new directory with --data or broker.data, as in ./state' },
  });
}

/**
 * Where the broker that runs on a data directory can be reached, as it wrote it down; `undefined` if none does.
 * Read here and not through the broker package, which would load the database driver into every command.
 */
export function runningBrokerUrl(directory: string): string | undefined {
  try {
    const { pid, url } = JSON.parse(readFileSync(join(directory, 'broker.json'), 'utf8')) as {
      pid?: unknown;
      url?: unknown;
    };
    return typeof pid === 'number' && typeof url === 'string' && isAlive(pid) ? url : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
