import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { untrustedDirectory } from '@signalbox/protocol/names';

/** The place of a face's socket, or the reason why another user may have put a socket there. */
export type FacePlace = { path: string } | { untrusted: string };

/**
 * Checks whether a token may be shown at a socket. Check before each connection: where a face ran, another user may have a directory of the
 * same name later. The returned path has no symbolic links in its directory, so that the checked directory is the one that is used. Throws
 * if the directory does not exist.
 */
export function trustedFace(socket: string): FacePlace {
  const directory = realpathSync(dirname(socket));
  const untrusted = untrustedDirectory(statSync(directory), process.getuid?.() ?? 0);
  return untrusted === undefined ? { path: join(directory, basename(socket)) } : { untrusted };
}
