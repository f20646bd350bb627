import { hostname } from 'node:os';
import type { AdminOp, AdminParams } from '@signalbox/protocol';
import { BackupError } from '../../backup/backup-directory.ts';
import { auditCaller, type Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `backup_begin`: begins to copy the broker's files. */
export async function beginBackup(
  { directory }: AdminParams<'backup_begin'>,
  deps: Pick<FrameDeps, 'backups' | 'audit' | 'now'>,
  caller: Caller,
): OperationOutcome<'backup_begin'> {
  return await orRefusal('params.directory', async () => {
    const begun = await deps.backups.begin(directory, caller.consumer);
    if (!caller.isConnected) deps.backups.abandon(caller.consumer);
    auditCaller(caller, 'backup_began', { detail: begun.directory }, deps);
    return { ...begun, host: hostname() };
  });
}

/** Runs `backup_wait`: reports the progress of the caller's backup. */
export async function waitForBackup(
  _params: AdminParams<'backup_wait'>,
  { backups }: Pick<FrameDeps, 'backups'>,
  { consumer }: Caller,
): OperationOutcome<'backup_wait'> {
  return await orRefusal('op', async () => {
    const { copied, copiedBytes, totalBytes } = await backups.wait(consumer);
    return { copied, copied_bytes: copiedBytes, total_bytes: totalBytes };
  });
}

/** Runs `backup_finish`: writes the manifest of the caller's backup. */
export async function finishBackup(
  { journal }: AdminParams<'backup_finish'>,
  { backups }: Pick<FrameDeps, 'backups'>,
  { consumer }: Caller,
): OperationOutcome<'backup_finish'> {
  return await orRefusal('op', async () => ({ manifest: await backups.finish(consumer, journal) }));
}

/** Converts a `BackupError` to a refusal. */
async function orRefusal<Op extends AdminOp, Result>(
  field: string,
  run: () => Promise<Result>,
): Promise<{ result: Result } | Extract<Awaited<OperationOutcome<Op>>, { refusal: unknown }>> {
  try {
    return { result: await run() };
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    return { refusal: { code: 'backup_failed', field, message: error.message } };
  }
}
