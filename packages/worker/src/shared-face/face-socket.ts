import { chmod, lstat, realpath, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf, untrustedDirectory } from '@signalbox/protocol/internal';

/** The longest path of a Unix socket on Linux, in bytes. Longer ones would be cut off. */
export const maxFacePathBytes = process.platform === 'linux' ? 107 : 103;
/** The number of connections that may wait to be accepted. A Unix socket refuses more at once. */
const backlog = 4096;

/** A Unix socket that accepts connections. */
export interface FaceSocket {
  readonly path: string;
  /** Accepts no more connections and removes the file. Resolves when all connections are closed. */
  close(): Promise<void>;
}

/**
 * Listens on a Unix socket (0600), whose directory nobody else may write to. The file of a dead face is replaced. Rejects with
 * `cannot_listen`, which says why, or `face_running` if a face answers there.
 */
export async function openFaceSocket(
  path: string,
  onConnection: (socket: Socket) => void,
): Promise<FaceSocket> {
  const place = await trustedPlace(path);
  await removeStale(place);
  const server = createServer(onConnection);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(cannotListen(path, messageOf(cause), { cause })));
    server.listen({ path: place, backlog }, resolve);
  });
  // A connection that the system could not accept, for lack of descriptors, is no reason to end.
  server.on('error', () => {});
  await chmod(place, 0o600);
  return { path: place, close: () => closed(server) };
}

/** Returns the path without symbolic links in its directory, so that the directory that was checked is the one that is used. */
async function trustedPlace(path: string): Promise<string> {
  let directory: string;
  let problem: string | undefined;
  try {
    directory = await realpath(dirname(path));
    problem = untrustedDirectory(await stat(directory), process.getuid?.() ?? 0);
  } catch (cause) {
    throw cannotListen(path, `its directory can't be read: ${messageOf(cause)}`, { cause });
  }
  if (problem !== undefined) {
    const hint = `make the directory private with chmod go-w ${directory}, or choose another one`;
    throw cannotListen(path, `its directory is not safe, ${problem}`, { details: { hint } });
  }
  const place = join(directory, basename(path));
  const bytes = Buffer.byteLength(place);
  if (bytes <= maxFacePathBytes) return place;
  const hint = 'choose a directory with a shorter path';
  throw cannotListen(
    path,
    `the path of a socket has at most ${maxFacePathBytes} bytes, and this one has ${bytes}`,
    {
      details: { hint },
    },
  );
}

async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  if (!found.isSocket()) {
    throw cannotListen(path, 'a file that is no socket is there', {
      details: { hint: 'move it away, or choose another path' },
    });
  }
  if (await answers(path)) {
    throw new SignalboxError('face_running', `a face serves ${path} already`, {
      details: { hint: 'agents can use that one; end it first, or choose another path' },
    });
  }
  await rm(path, { force: true });
}

/** Returns true if a process listens on a socket. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => resolve(!['ECONNREFUSED', 'ENOENT'].includes(errnoOf(error) ?? '')));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function cannotListen(
  path: string,
  why: string,
  options: { cause?: unknown; details?: Record<string, unknown> },
): SignalboxError {
  return new SignalboxError('cannot_listen', `no face can listen on ${path}: ${why}`, options);
}
