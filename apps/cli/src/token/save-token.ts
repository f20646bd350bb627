import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWhole } from '@signalbox/serving/whole-files';

/** Throws `usage` if a file exists that must not be replaced. */
export function checkFree(file: string, force: boolean): void {
  if (!force && existsSync(file)) throw exists(file);
}

/** Writes the text of a token file (0600). With `force` an existing file is replaced. Rejects with `usage`. */
export async function saveToken(file: string, text: string, force: boolean): Promise<void> {
  try {
    await writeWhole(file, text, { isNew: !force });
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw exists(file);
    throw new SignalboxError('usage', `the token could not be written to ${file}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function exists(file: string): SignalboxError {
  return new SignalboxError('usage', `${file} exists already`, {
    details: { hint: 'choose another file, or replace it with --force' },
  });
}

/** Returns a warning if git could commit a new token file with the next `git add .`, with what keeps it from that. */
export async function committableWarning(file: string): Promise<string | undefined> {
  if (!(await isCommittable(file))) return undefined;
  const rule = file.endsWith('.token') ? '*.token' : basename(file);
  return `git does not ignore ${file}, so a commit could publish the token: add the line ${rule} to .gitignore`;
}

/** Returns true if a file lies in a git work tree and no rule ignores it; false where git is not there or cannot tell. */
function isCommittable(file: string): Promise<boolean> {
  const path = resolve(file);
  // A repository may name a program as its file-system monitor, which nobody asked for here.
  const args = ['-C', dirname(path), '-c', 'core.fsmonitor=false', 'check-ignore', '--quiet', '--', path];
  return new Promise((settle) => {
    execFile('git', args, { timeout: 5000 }, (error) => settle(error?.code === 1));
  });
}
