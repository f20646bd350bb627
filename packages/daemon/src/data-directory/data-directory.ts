import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type BrokerFacts, brokerFiles } from '@signalbox/broker/files';
import { parseBrokerAddress, SignalboxError, socketAddress } from '@signalbox/protocol';
import { errnoOf, socketPathProblem } from '@signalbox/protocol/internal';
import type { Config } from '../config/index.ts';
import { formatListenAddress } from '../config/internal.ts';
import { readTokenFile } from './token-file.ts';

/** Returns the absolute path of the data directory: the one that is named, else that of the configuration, else the default. */
export function dataDirectory(
  named: string | undefined,
  config: Pick<Config, 'broker'>,
  env: NodeJS.ProcessEnv = process.env,
): string {
  return named === undefined ? (config.broker.data ?? defaultDataDirectory(env)) : resolve(named);
}

/** Returns `$XDG_STATE_HOME/signalbox`, by default `~/.local/state/signalbox`. */
function defaultDataDirectory(env: NodeJS.ProcessEnv): string {
  return join(stateHome(env), 'signalbox');
}

/**
 * Returns the directory where `worker run` records its changes in workspaces. It is outside the data directory, which holds nothing else.
 */
export function workspaceRecordsDirectory(env: NodeJS.ProcessEnv): string {
  return join(stateHome(env), 'signalbox-workspaces');
}

/** Returns the directory where `worker serve` records the sessions of its agents' threads. It is outside the data directory, too. */
export function servedAgentsDirectory(env: NodeJS.ProcessEnv): string {
  return join(stateHome(env), 'signalbox-served');
}

function stateHome({ XDG_STATE_HOME: state }: NodeJS.ProcessEnv): string {
  return state && isAbsolute(state) ? state : join(homedir(), '.local', 'state');
}

/** Names the database of the tasks of callers from outside, inside its data directory. */
export function outsideTasksFile(directory: string): string {
  return join(directory, 'a2a.db');
}

/**
 * Names the orchestrator's files inside its data directory. `signIns` and `results` are folders. `laneOf` names the socket on which the
 * orchestrator with an id takes calls directly, `markOf` what a journal in a database has confirmed to it, and
 * `samplesOf` its samples.
 */
export function orchestratorFiles(directory: string): {
  journal: string;
  token: string;
  signIns: string;
  results: string;
  laneOf: (id: string) => string;
  markOf: (id: string) => string;
  samplesOf: (id: string) => string;
} {
  return {
    journal: join(directory, 'journal.db'),
    token: join(directory, 'orchestrator.token'),
    signIns: join(directory, 'auth'),
    results: join(directory, 'results'),
    laneOf: (id) => join(directory, `${id}.sock`),
    markOf: (id) => join(directory, `journal-${id}.mark`),
    samplesOf: (id) => join(directory, `samples-${id}.jsonl`),
  };
}

/** Returns the directory of the orchestrators with a label inside a data directory. They share no file with the one without a label. */
export function labelDirectory(directory: string, label: string): string {
  return join(directory, 'hosts', label);
}

/** Names of files by which a data directory is known, and of a folder that a file system puts into an empty one. */
const knownFiles = [
  brokerFiles('').messages,
  brokerFiles('').tokens,
  brokerFiles('').operatorToken,
  orchestratorFiles('').journal,
  'lock.db',
  'up.log',
  'lost+found',
];

/** The folder in which a restore makes its files before it puts them into the data directory. */
export const restoringFolder = 'restoring';

/**
 * Rejects with `bad_data_directory` if a restore into the directory has not finished, or if it holds other files and no data of a broker.
 * A broker takes its directory for itself alone (0700), which would shut others out of a home or temporary folder. Resolves with `isNew` if no
 * broker has run there.
 */
export async function checkDataDirectory(directory: string): Promise<{ isNew: boolean }> {
  let names: string[];
  try {
    names = await readdir(directory);
  } catch (cause) {
    // The store makes a directory that is missing, and explains one that cannot be read.
    if (errnoOf(cause) !== 'ENOTDIR') return { isNew: true };
    throw badDataDirectory(`${directory} is no directory`, cause);
  }
  if (names.includes(restoringFolder)) {
    const message = `a restore into ${directory} has not finished, so that messages may be missing`;
    throw badDataDirectory(
      message,
      undefined,
      `if no restore runs, remove ${directory} and restore the backup again`,
    );
  }
  if (names.length === 0 || names.some((name) => knownFiles.includes(name)))
    return { isNew: !names.includes('lock.db') };
  throw badDataDirectory(`${directory} holds other files and no data of a broker`);
}

function badDataDirectory(
  message: string,
  cause?: unknown,
  hint = 'name an empty or a new directory with --data or broker.data, as in ./state',
): SignalboxError {
  return new SignalboxError('bad_data_directory', message, { cause, details: { hint } });
}

/**
 * Returns the address of the broker of a data directory on this machine: its Unix socket, or its TCP address if the running broker has
 * no socket or the configuration switches it off. Throws `unreachable` if none runs and its address is not known.
 *
 * With `isNamed: false` the user named neither the directory nor its configuration: a folder that somebody else filled may have led
 * there. Then an address counts only if it is on this machine, and if the directory is this user's and closed to others.
 */
export function localBrokerUrl(
  directory: string,
  config: Pick<Config, 'broker'>,
  { isNamed = true } = {},
): string {
  const running = isNamed || isPrivate(directory) ? runningBroker(directory) : undefined;
  for (const address of [running?.socket, running?.url]) {
    if (typeof address !== 'string') continue;
    // An archive may hold private directories, too.
    if (isNamed || parseBrokerAddress(address, { insecure: true }).isLocal) return address;
  }
  if (!config.broker.socket && isNamed) {
    return `${config.broker.tls ? 'wss' : 'ws'}://${formatListenAddress(config.broker.listen)}`;
  }
  // While no broker runs, any user could listen on its port. Only the broker's user can make a socket in its directory.
  const path = brokerFiles(directory).socket;
  if (socketPathProblem(path) === undefined) return socketAddress(path);
  throw noBroker(`no broker runs on ${directory}`);
}

function isPrivate(directory: string): boolean {
  const found = statSync(directory, { throwIfNoEntry: false });
  return found !== undefined && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

function noBroker(message: string, details: Record<string, unknown> = {}): SignalboxError {
  const hint =
    'start one with: signalbox up   (or name the data directory of the one that runs with --data or --config)';
  return new SignalboxError('unreachable', message, { retryable: true, details: { ...details, hint } });
}

/**
 * Returns the process with which the broker of a data directory ends: its supervisor, or the broker itself without one. `undefined` if
 * no broker is known to run there, or if its supervisor is dead, so that it is about to end.
 */
export function brokerKeeper(directory: string): number | undefined {
  const broker = runningBroker(directory);
  const keeper = broker?.supervisor_pid ?? broker?.pid;
  return typeof keeper === 'number' && isAlive(keeper) ? keeper : undefined;
}

/** Reads the facts that the running broker of a data directory wrote into it; `undefined` if none runs. */
export function runningBroker(directory: string): Partial<BrokerFacts> | undefined {
  try {
    const facts = JSON.parse(readFileSync(brokerFiles(directory).facts, 'utf8')) as Partial<BrokerFacts>;
    return typeof facts.pid === 'number' && isAlive(facts.pid) ? facts : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the data directories of this user's running brokers, as far as the system tells: Linux has the open files of a process. */
export function runningDirectories(): string[] {
  const openFiles = namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => namesIn(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)));
  const locks = openFiles.filter((file) => file.endsWith('/lock.db'));
  // Root sees the files of all users, who could name any process as the one to end.
  return [...new Set(locks.map((file) => dirname(file)))].filter(isPrivate);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/**
 * Returns the addresses of the broker that runs on a data directory; none if none is known. With `isNamed: false` as for
 * {@link localBrokerUrl}.
 */
export function runningAddresses(
  directory: string,
  { isNamed }: { isNamed: boolean },
): { url?: string; socket?: string } {
  const { url, socket } = (isNamed || isPrivate(directory) ? runningBroker(directory) : undefined) ?? {};
  return { ...(typeof url === 'string' && { url }), ...(typeof socket === 'string' && { socket }) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

/**
 * Reads the operator's token, which the broker keeps in its data directory. Throws `unreachable`, with `url` in its text, if no broker
 * ever ran there.
 */
export function operatorToken(directory: string, url: string): string {
  const file = brokerFiles(directory).operatorToken;
  if (existsSync(file)) return readTokenFile(file).token;
  throw noBroker(`no broker has run on ${directory} yet, so none can be reached at ${url}`, { url });
}
