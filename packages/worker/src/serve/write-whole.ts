import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file that only this user can read, in place of the present one: readers see the old file or the new one, never a part. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.new`;
  await writeFile(fresh, text, { mode: 0o600 });
  await rename(fresh, path);
}
