import type { BrokerClient } from '@signalbox/client';
import type { AdminResult, BackupManifest } from '@signalbox/protocol';
import { requireOrchestrator } from './orchestrator/calls.ts';
import { queryOrchestrator } from './orchestrator/orchestrator-request.ts';

/** A backup that the broker has begun in a directory of its machine, which is called `host`. */
export type BegunBackup = AdminResult<'backup_begin'>;

/** The journal in a backup. */
export type BackupJournal = NonNullable<BackupManifest['journal']>;

/** A journal is small: it is copied in seconds. */
const journalTimeoutMs = 120_000;

/**
 * Makes the broker copy its data into an absent or empty directory of its machine, and resolves when it has. The backup is given up when
 * the client is closed before {@link finishBackup}. Rejects with `backup_failed`.
 */
export async function beginBackup(
  client: BrokerClient,
  directory: string,
  onProgress: (progress: { copied_bytes: number; total_bytes: number }) => void = () => {},
): Promise<BegunBackup> {
  const begun = await client.admin('backup_begin', { directory });
  for (;;) {
    const progress = await client.admin('backup_wait', {});
    if (progress.copied) return begun;
    onProgress(progress);
  }
}

/** Makes an orchestrator copy its journal into a backup. Rejects with the orchestrator's error, and with `no_consumer` if none runs. */
export async function addJournal(
  client: BrokerClient,
  orchestrator: string,
  { directory, id }: Pick<BegunBackup, 'directory' | 'id'>,
): Promise<BackupJournal> {
  await requireOrchestrator(client, orchestrator);
  const query = { op: 'backup' as const, directory, backup_id: id };
  const { journal } = await queryOrchestrator(client, orchestrator, query, { timeoutMs: journalTimeoutMs });
  return journal;
}

/** Makes the broker write the manifest, which turns the directory into a backup. */
export async function finishBackup(
  client: BrokerClient,
  journal: BackupJournal | undefined,
): Promise<BackupManifest> {
  const { manifest } = await client.admin('backup_finish', { ...(journal && { journal }) });
  return manifest;
}
