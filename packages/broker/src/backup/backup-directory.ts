import { chmod, lstat, mkdir, readdir, realpath, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { backupFiles, messageOf } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWhole } from '@signalbox/serving/whole-files';

/** The reason why a backup is refused or was given up, for the person who asked for it. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** A directory that belongs to one unfinished backup. */
export interface BackupDirectory {
  readonly path: string;
  /** Removes the files of the backup, and the directory if it was made for the backup. */
  remove(): Promise<void>;
}

/**
 * Takes an empty or absent directory (0700) for a backup, and writes the id of the backup there. Rejects with a `BackupError` if the
 * directory can't be used.
 */
export async function takeBackupDirectory(
  directory: string,
  { dataDir, id }: { dataDir: string; id: string },
): Promise<BackupDirectory> {
  if (!isAbsolute(directory))
    throw new BackupError(`'${directory}' is no absolute path. Name one on the broker's machine`);
  const path = resolve(directory);
  await refuseInside(path, dataDir);
  const isNew = await makeDirectory(path);
  const backup = { path, remove: () => remove(path, isNew) };
  try {
    if (!isNew) await chmod(path, 0o700);
    await writeWhole(join(path, backupFiles.unfinished), `${JSON.stringify({ id })}\n`, { isNew: true });
    return backup;
  } catch (thrown) {
    // Another backup may have taken the directory meanwhile: its file is not ours to remove.
    if (isNew) await rmdir(path).catch(() => {});
    throw new BackupError(directoryProblem(path, 'written', thrown), { cause: thrown });
  }
}

/** The directories that a broker may write to which `service install` or `deploy/compose.yaml` runs. */
const serviceDirectories =
  'a service of systemd or a container may write to /var/lib/signalbox-backups, and signalbox service install --writable DIR allows a further one';

/** Makes the directory. Returns false if it exists and is empty. */
async function makeDirectory(path: string): Promise<boolean> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined) {
    try {
      await mkdir(path, { mode: 0o700 });
      return true;
    } catch (thrown) {
      throw new BackupError(directoryProblem(path, 'made', thrown), { cause: thrown });
    }
  }
  if (there.isSymbolicLink()) throw new BackupError(`${path} is a symbolic link. Name the directory itself`);
  if (!there.isDirectory()) throw new BackupError(`${path} is no directory. Name a new one`);
  const names = await readdir(path).catch((thrown) => {
    throw new BackupError(directoryProblem(path, 'read', thrown), { cause: thrown });
  });
  if (names.length === 0) return false;
  const advice = names.includes(backupFiles.manifest)
    ? 'It holds a backup, which is never overwritten'
    : names.includes(backupFiles.unfinished)
      ? 'It holds a backup that was not finished: delete it'
      : 'A backup goes into a new or an empty directory';
  throw new BackupError(`${path} is not empty. ${advice}`);
}

/** Says why the broker can't use a directory, and what to do. A service often sees and may write less than the person who asks. */
export function directoryProblem(path: string, what: 'made' | 'written' | 'read', thrown: unknown): string {
  const errno = errnoOf(thrown) ?? '';
  const problem = `${path} can't be ${what}`;
  if (errno === 'ENOENT')
    return `${problem}, because ${dirname(path)} does not exist for the broker. Make that one first, with mkdir -p. If it exists, name another: ${serviceDirectories}`;
  if (['EACCES', 'EPERM', 'EROFS'].includes(errno))
    return `${problem}: the broker may not do that there (${errno}). Name another directory: ${serviceDirectories}`;
  return `${problem}: ${messageOf(thrown)}`;
}

async function refuseInside(path: string, dataDir: string): Promise<void> {
  const data = await realpath(dataDir);
  const real = await realpath(path)
    .catch(async () => join(await realpath(dirname(path)), basename(path)))
    .catch(() => path);
  if (real !== data && !real.startsWith(`${data}${sep}`)) return;
  throw new BackupError(
    `${path} is inside the data directory ${dataDir}. Name a directory elsewhere, best on another disk`,
  );
}

async function remove(path: string, isNew: boolean): Promise<void> {
  for (const name of Object.values(backupFiles)) {
    for (const suffix of ['', '-journal', '-wal', '-shm'])
      await rm(join(path, name + suffix), { force: true });
  }
  // Files that somebody else put there stay.
  if (isNew) await rmdir(path).catch(() => {});
}
