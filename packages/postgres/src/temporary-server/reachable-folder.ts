import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';

/** Returns a folder for temporary files that every user can reach, because a root's server runs as another user. */
export async function reachableFolder(): Promise<string> {
  for (const folder of [tmpdir(), '/tmp', '/var/tmp']) if (await canBeEntered(folder)) return folder;
  return tmpdir();
}

/** Tells whether other users may go through a folder and all those above it. */
async function canBeEntered(folder: string): Promise<boolean> {
  const mode = await stat(folder).then(
    (found) => found.mode,
    () => 0,
  );
  if ((mode & 0o001) === 0) return false;
  return folder === dirname(folder) || (await canBeEntered(dirname(folder)));
}
