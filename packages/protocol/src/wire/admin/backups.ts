import { z } from 'zod';
import { frameLimits } from '../frame-limits.ts';

const directory = `must be a path of at most ${frameLimits.pathLength} characters`;

/** The names of the files in a backup. */
export const backupFiles = {
  messages: 'messages.db',
  tokens: 'tokens.db',
  audit: 'audit.db',
  journal: 'journal.db',
  outsideTasks: 'a2a.db',
  manifest: 'manifest.json',
  /** Holds the id of a backup that is not finished. */
  unfinished: 'unfinished.json',
} as const;

/** Describes the operations that make a backup, in the order in which they are asked for on one connection. */
export function backupOperations() {
  return {
    backup_begin: {
      meaning:
        'Begins to copy everything that the broker keeps into a directory of its machine, which must be empty or absent. The backup is given up when this connection ends.',
      params: z.object({
        directory: z
          .string({ error: directory })
          .max(frameLimits.pathLength, { error: directory })
          .describe('An absolute path.'),
      }),
      result: z.object({
        id: z.string().describe('Names the backup, also in the directory.'),
        directory: z.string(),
        host: z.string().describe('The name of the broker’s machine.'),
      }),
    },
    backup_wait: {
      meaning: 'Answers when everything is copied, or after a second.',
      params: z.object({}),
      result: z.object({
        copied: z.boolean(),
        copied_bytes: z.number(),
        total_bytes: z.number().describe('An estimate until everything is copied.'),
      }),
    },
    backup_finish: {
      meaning:
        'Writes the manifest. The orchestrator has put its journal into the directory before, if it is part of the backup.',
      params: z.object({ journal: backupJournalSchema().optional() }),
      result: z.object({ manifest: backupManifestSchema() }),
    },
  };
}

/** Makes the schema of the journal in a backup. */
export function backupJournalSchema() {
  return z
    .object({
      id: z.string().max(frameLimits.adminTextLength),
      generation: z
        .string()
        .max(frameLimits.adminTextLength)
        .optional()
        .describe('Absent if the journal was bound to no inbox of this broker.'),
    })
    .meta({
      id: 'BackupJournal',
      title: 'journal of a backup',
      description: 'The orchestrator’s journal in a backup.',
    });
}

/** Makes the schema of the file `manifest.json` of a backup. Times are epoch milliseconds. */
export function backupManifestSchema() {
  return z
    .object({
      format: z.literal(1),
      id: z.string(),
      broker_id: z.string(),
      journal: backupJournalSchema().optional().describe('Absent if the backup holds no journal.'),
      began_at: z.number(),
      ended_at: z.number(),
      files: z.array(
        z.object({
          name: z.string(),
          bytes: z.number(),
          sha256: z.string().describe('In hex.'),
        }),
      ),
    })
    .meta({
      id: 'BackupManifest',
      title: 'backup manifest',
      description: 'The files of a backup, and whose they are.',
    });
}

/** The content of the file `manifest.json` of a backup. */
export type BackupManifest = z.infer<ReturnType<typeof backupManifestSchema>>;
