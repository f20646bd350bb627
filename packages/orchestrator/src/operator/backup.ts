import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@signalbox/client';
import {
  type BackupReply,
  type BackupRequest,
  backupFiles,
  type McpReply,
  messageOf,
  type Sender,
  toolCallError,
} from '@signalbox/protocol';
import type { Journal } from '@signalbox/store/journal';

/** The dependencies of {@link answerBackup}. */
export interface BackupDeps {
  journal: Journal | undefined;
  /** Returns the name of this orchestrator's inbox in the journal. */
  inbox: () => string;
  log: Log;
}

/** Copies the journal into the directory of a backup that the broker has begun on the same machine. */
export async function answerBackup(
  { journal, inbox, log }: BackupDeps,
  asker: Sender,
  { directory, backup_id: id }: BackupRequest,
): Promise<McpReply> {
  const refuse = (message: string): McpReply => ({
    error: toolCallError('invalid_arguments', message, { mayHaveRun: false }),
  });
  if (!journal) return refuse('this orchestrator keeps no journal');
  if ((await unfinishedBackup(directory)) !== id) {
    return refuse(
      `the orchestrator can't find the backup '${id}' in ${directory}: it runs on another machine than the broker, or as another user`,
    );
  }
  log({ event: 'operator_request', op: 'backup', directory, agent: asker.agent });
  try {
    await journal.copyTo(join(directory, backupFiles.journal));
  } catch (thrown) {
    return { error: toolCallError('internal', messageOf(thrown), { mayHaveRun: false }) };
  }
  const generation = journal.generation(inbox());
  const data: BackupReply = { journal: { id: journal.id, ...(generation !== undefined && { generation }) } };
  return { data };
}

/** Reads the id of the backup that is being made in a directory. */
async function unfinishedBackup(directory: string): Promise<string | undefined> {
  try {
    const { id } = JSON.parse(await readFile(join(directory, backupFiles.unfinished), 'utf8')) as {
      id?: unknown;
    };
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
