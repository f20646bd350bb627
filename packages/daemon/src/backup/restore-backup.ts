import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { type AuditEventCode, backupFiles, messageOf, SignalboxError } from '@signalbox/protocol';
import { openSqliteAuditLog } from '@signalbox/store';
import {
  claimRestoredStore,
  disownRestoredJournal,
  dropRestoredTokens,
  lockDataDirectory,
  syncFile,
} from '@signalbox/store/internal';
import { resendRestoredTasks } from '@signalbox/store/outside-tasks';
import { restoringFolder } from '../data-directory/data-directory.ts';
import { type BackupContents, verifyBackup } from './verify-backup.ts';

/** The backup to restore, and the target directory. */
export interface RestoreOptions {
  /** The directory of the backup. */
  backup: string;
  /** An absent or empty directory. */
  dataDir: string;
  /** Drops all tokens, those of operators included. */
  revokeTokens: boolean;
  /** Epoch milliseconds. */
  now: number;
}

/** The result of a restore. */
export interface RestoredBackup {
  /** The new id of the broker. */
  brokerId: string;
  /** The time when the backup was begun, in epoch milliseconds. */
  madeAt: number;
  contents: BackupContents;
  tokens: { dropped: number; left: number };
}

/** The files in the order in which they are put into place. The messages come last, because a directory without them is not complete. */
const order = ['tokens', 'audit', 'journal', 'outsideTasks', 'messages'] as const;

/** The names of entries that count as none: those of an empty file system, and those that the lock makes. */
const ignored = ['lost+found', 'lock.db', 'lock.db-journal', 'holder.json'];

/**
 * Verifies a backup and makes a data directory of it. The broker gets a new id, and its messages and the journal are foreign to each
 * other: an unsafe call that waits is not run, because it may have run after the backup was made. Rejects with `backup_damaged`, or
 * `restore_refused` for a directory that is in use; nothing is left behind then.
 */
export async function restoreBackup({
  backup,
  revokeTokens,
  now,
  ...rest
}: RestoreOptions): Promise<RestoredBackup> {
  const dataDir = resolve(rest.dataDir);
  await requireEmpty(dataDir, backup);
  const { problems, manifest, contents } = await verifyBackup(backup);
  if (!manifest || !contents) {
    const lines = problems.map(({ file, problem }) => `${file} ${problem}`);
    throw new SignalboxError('backup_damaged', `nothing was restored from ${backup}: ${lines.join('; ')}`);
  }
  const isNew = (await mkdir(dataDir, { recursive: true, mode: 0o700 })) !== undefined;
  try {
    await using _lock = await lockDataDirectory(dataDir);
    await requireEmpty(dataDir, backup);
    const names = order.filter((name) => manifest.files.some((file) => file.name === backupFiles[name]));
    const changed = await putFiles(backup, dataDir, names, { revokeTokens, now });
    return { madeAt: manifest.began_at, contents, ...changed };
  } catch (thrown) {
    if (isNew) {
      await rm(join(dataDir, 'lock.db'), { force: true });
      await rmdir(dataDir).catch(() => {});
    }
    if (thrown instanceof SignalboxError) throw thrown;
    throw new SignalboxError('restore_failed', `nothing was restored: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

async function requireEmpty(dataDir: string, backup: string): Promise<void> {
  const refuse = (message: string): never => {
    throw new SignalboxError('restore_refused', message, {
      details: { hint: 'name an empty or a new directory with --data; nothing is ever overwritten' },
    });
  };
  const names = await readdir(dataDir).catch((thrown) => {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    return refuse(`${dataDir} can't be read: ${messageOf(thrown)}`);
  });
  if (names.some((name) => !ignored.includes(name))) refuse(`${dataDir} is not empty`);
  const inside = await realpath(backup).catch(() => resolve(backup));
  if (dataDir === inside || dataDir.startsWith(`${inside}${sep}`)) refuse(`${dataDir} is inside the backup`);
}

/** Records the restore in the audit log, because tokens are gone that the log says were issued. */
async function recordRestore(file: string, tokens: RestoredBackup['tokens'], at: number): Promise<void> {
  await using audit = await openSqliteAuditLog({ file, now: () => at });
  const detail = `tokens dropped: ${tokens.dropped}, left: ${tokens.left}`;
  audit.record({ kind: 'change', at, code: 'backup_restored' satisfies AuditEventCode, detail });
}

/** Copies the files to a folder beside their places, changes them there, and puts them into place. */
async function putFiles(
  backup: string,
  dataDir: string,
  names: readonly (typeof order)[number][],
  { revokeTokens, now }: Pick<RestoreOptions, 'revokeTokens' | 'now'>,
): Promise<Pick<RestoredBackup, 'brokerId' | 'tokens'>> {
  const staging = join(dataDir, restoringFolder);
  const staged = (name: keyof typeof backupFiles): string => join(staging, backupFiles[name]);
  const placed: string[] = [];
  await mkdir(staging, { mode: 0o700 });
  try {
    for (const name of names) {
      await copyFile(join(backup, backupFiles[name]), staged(name), constants.COPYFILE_EXCL);
      await chmod(staged(name), 0o600);
    }
    const { identity: brokerId, mark } = claimRestoredStore(staged('messages'), now);
    const tokens = dropRestoredTokens(staged('tokens'), { all: revokeTokens });
    await recordRestore(staged('audit'), tokens, now);
    if (names.includes('journal')) disownRestoredJournal(staged('journal'), now);
    if (names.includes('outsideTasks')) resendRestoredTasks(staged('outsideTasks'));
    for (const name of names) await syncFile(staged(name));
    const moves = names.map((name) => [staged(name), join(dataDir, backupFiles[name])] as const);
    for (const [from, to] of [[mark, join(dataDir, basename(mark))] as const, ...moves]) {
      await rename(from, to);
      placed.push(to);
    }
    // While the folder is there, nothing starts on the directory: it goes last, also after a power cut.
    await syncFile(dataDir);
    await rm(staging, { recursive: true, force: true });
    await syncFile(dataDir);
    return { brokerId, tokens };
  } catch (thrown) {
    for (const file of [staging, ...placed]) await rm(file, { recursive: true, force: true });
    throw thrown;
  }
}
