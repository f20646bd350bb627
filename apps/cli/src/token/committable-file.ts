import { execFile } from 'node:child_process';
import { basename, dirname, resolve } from 'node:path';

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
