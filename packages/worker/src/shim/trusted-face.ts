import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { untrustedDirectory } from '@signalbox/protocol/names';

/** The place of a face's socket, or the reason why another user may have put a socket there. */
export type FacePlace = { path: string } | { untrusted: string };

/**
 * Looks whether a token may be shown at a socket. Look before each connection: where a face ran, another user may have a directory of
 * the same name later. The path that is returned has no symbolic links in its directory, so that the directory that was looked at is
 * the one that is used. Throws if there is no such directory.
 */
export function trustedFace(socket: string): FacePlace {
  const directory = realpathSync(dirname(socket));
  const untrusted = untrustedDirectory(statSync(directory), process.getuid?.() ?? 0);
  return untrusted === undefined ? { path: join(directory, basename(socket)) } : { untrusted };
}
