import { resolve } from 'node:path';
import { type BackupContents, verifyBackup } from '@signalbox/daemon/backup';
import { exitCodes } from '../terminal/exit-codes.ts';
import { count, printJson, printLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';

/** The options of `signalbox backup verify`. */
export interface VerifyFlags {
  json?: boolean;
}

/** Verifies a backup, prints what is in it or what is wrong with it, and sets the exit code. */
export async function verify(directory: string, flags: VerifyFlags): Promise<void> {
  const path = resolve(directory);
  const { problems, manifest, contents } = await verifyBackup(path);
  if (problems.length > 0) process.exitCode = exitCodes.failed;
  if (flags.json)
    return printJson({ directory: path, ok: problems.length === 0, problems, manifest, contents });
  if (!manifest || !contents) {
    return printLines(
      `this backup can't be restored: ${path}`,
      ...problems.map(({ file, problem }) => `  ${file} ${problem}`),
    );
  }
  printLines(
    `the backup of ${new Date(manifest.began_at).toISOString()} in ${path} is whole`,
    ...contentLines(contents).map((line) => `  ${line}`),
    'Next: make a data directory of it',
    `  ${shellWords('signalbox', 'restore', path, '--data')} NEW_DIRECTORY`,
  );
}

/** Writes what a backup holds for people. */
export function contentLines(contents: BackupContents): string[] {
  const { messages, dead_letters, tokens, agents, audit_rows, calls, a2a_tasks } = contents;
  return [
    `${count(messages, 'message')} (settled ones without their bodies, unless these are kept), ${count(dead_letters, 'dead letter')}`,
    `${count(tokens, 'token')}, ${count(agents, 'agent')} that connected, ${count(audit_rows, 'row')} of the audit log`,
    calls === undefined ? 'no journal' : `a journal with ${count(calls, 'call')}`,
    ...(a2a_tasks === undefined ? [] : [`${count(a2a_tasks, 'task')} of A2A clients`]),
  ];
}
