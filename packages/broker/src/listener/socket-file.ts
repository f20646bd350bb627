import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf, socketPathProblem, untrustedDirectory } from '@signalbox/protocol/internal';
import { brokerFiles } from '../broker-files.ts';

/** The Unix socket that a broker listens on, or the reasons why there is none. */
export type SocketFile = { path: string; dispose: () => Promise<void> } | { problems: string[] };

/** The options that determine the place of the socket. */
export interface SocketOptions {
  /** The data directory, whose lock is held. */
  dataDir: string;
  /** The directory for sockets of this user, `$XDG_RUNTIME_DIR`. */
  runtimeDir: string | undefined;
  /** Listens on a path. Rejects with the error of the system. */
  listen: (path: string) => Promise<void>;
}

const fileName = basename(brokerFiles('').socket);

/** Errors of file systems that hold no sockets. */
const unsupported = ['ENOTSUP', 'EPERM', 'EINVAL'];

/**
 * Listens on `broker.sock` in the data directory or, if that is not possible, in a directory of its own in `runtimeDir`. Rejects if the
 * path is taken by something other than a socket.
 */
export async function openSocketFile({ dataDir, runtimeDir, listen }: SocketOptions): Promise<SocketFile> {
  const own = await realpath(dataDir);
  const first = await listenIn(own, listen);
  if (first.problem === undefined) return { path: first.path, dispose: async () => {} };
  if (runtimeDir === undefined || !isAbsolute(runtimeDir))
    return { problems: [first.problem, 'XDG_RUNTIME_DIR names no directory'] };
  // The name depends on the data directory, so that the next broker finds a stale socket.
  const directory = join(
    runtimeDir,
    `signalbox-${createHash('sha256').update(own).digest('hex').slice(0, 16)}`,
  );
  const made = await makePrivate(directory);
  const second = made === undefined ? await listenIn(directory, listen) : { problem: made };
  if (second.problem !== undefined) return { problems: [first.problem, second.problem] };
  return { path: second.path, dispose: () => rm(directory, { recursive: true, force: true }) };
}

async function listenIn(
  directory: string,
  listen: SocketOptions['listen'],
): Promise<{ path: string; problem?: undefined } | { problem: string }> {
  const path = join(directory, fileName);
  const unusable = socketPathProblem(path);
  if (unusable !== undefined) return { problem: unusable };
  // Clients check the same, and would refuse the socket.
  const untrusted = untrustedDirectory(await stat(directory), process.getuid?.() ?? 0);
  if (untrusted !== undefined) return { problem: `${directory} is not safe for a socket: ${untrusted}` };
  await removeStale(path);
  try {
    await listen(path);
  } catch (error) {
    if (!unsupported.includes(errnoOf(error) ?? '')) throw error;
    return { problem: `${directory} can't hold a socket: ${messageOf(error)}` };
  }
  await chmod(path, 0o600);
  return { path };
}

/** Removes a socket that a broker left behind. No process listens on it: the lock of the data directory is ours. */
async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new SignalboxError('cannot_listen', `${path} is no socket, so that no socket can be made there`, {
      details: { hint: 'move it away, or set broker.socket: false in the configuration' },
    });
  }
  await rm(path, { force: true });
}

/** Makes a directory (0700). Returns the reason if it can't be used: it can't be made, or it belongs to somebody else. */
async function makePrivate(directory: string): Promise<string | undefined> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') return `${directory} can't be made: ${messageOf(error)}`;
  }
  const found = await lstat(directory);
  const isOwn = found.isDirectory() && found.uid === (process.getuid?.() ?? 0) && (found.mode & 0o077) === 0;
  return isOwn ? undefined : `${directory} is no private directory of this user`;
}
