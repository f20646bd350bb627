import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The options of {@link writeWhole}. */
export interface WriteOptions {
  /** The mode of the file, from which the umask takes bits. Default: 0600. */
  mode?: number;
  /** Refuses with `EEXIST` if a file is there already. */
  isNew?: boolean;
}

/**
 * Writes a file in place of the present one, and resolves when text and name are on disk. A reader, and whoever comes after a crash or a
 * power cut, finds the earlier file or the new one, never a part. A link is replaced, not followed. Rejects with the error of the file
 * system. If only the name could not be synced, the new file is there then, and else the earlier one.
 */
export async function writeWhole(
  path: string,
  text: string,
  { mode = 0o600, isNew = false }: WriteOptions = {},
): Promise<void> {
  const draft = draftOf(path);
  try {
    await using file = await open(draft, 'wx', mode);
    await file.writeFile(text);
    await file.sync();
    await (isNew ? link : rename)(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  if (isNew) await rm(draft);
  try {
    await using directory = await open(dirname(path), 'r');
    await directory.sync();
  } catch (error) {
    if (!isUnsyncable(error)) throw error;
  }
}

/** Does what {@link writeWhole} does before it returns, for a file that must be there before the process goes on. */
export function writeWholeNow(
  path: string,
  text: string,
  { mode = 0o600 }: Pick<WriteOptions, 'mode'> = {},
): void {
  const draft = draftOf(path);
  try {
    withHandle(draft, 'wx', mode, (file) => {
      writeFileSync(file, text);
      fsyncSync(file);
    });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  try {
    withHandle(dirname(path), 'r', undefined, fsyncSync);
  } catch (error) {
    if (!isUnsyncable(error)) throw error;
  }
}

/** Tells whether this directory can't be synced by anybody: the file system can't, or the user may not read the directory. */
function isUnsyncable(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EINVAL' || code === 'EACCES' || process.platform === 'win32';
}

/** Names a draft beside the file, which nobody can have put there before. */
function draftOf(path: string): string {
  return `${path}.${randomBytes(6).toString('hex')}.new`;
}

function withHandle(
  path: string,
  flags: string,
  mode: number | undefined,
  use: (file: number) => void,
): void {
  const handle = openSync(path, flags, mode);
  try {
    use(handle);
  } finally {
    closeSync(handle);
  }
}
