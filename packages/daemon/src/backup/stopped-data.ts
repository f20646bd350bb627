import { existsSync, rmSync } from 'node:fs';
import { brokerFiles } from '@signalbox/broker/files';
import { messageOf } from '@signalbox/protocol';
import {
  holdStoppedDirectory,
  refuseAbsent,
  verifyAuditLog,
  verifyInboxStore,
  verifyTokenStore,
} from '@signalbox/store/internal';
import { verifyOutsideTasks } from '@signalbox/store/outside-tasks';
import { orchestratorFiles, outsideTasksFile } from '../data-directory/data-directory.ts';
import { verifyJournal } from './verify-journal.ts';

/**
 * Reads everything in the databases of a data directory on which nothing runs, and resolves with each damage in words. Changes nothing.
 * Rejects with a `StoreError`, as in `data_directory_locked` if a broker runs there.
 */
export async function verifyStoppedData(directory: string): Promise<string[]> {
  using _held = holdStoppedDirectory(directory);
  const { journal } = orchestratorFiles(directory);
  return [
    ...(await verifyBrokerData(directory)),
    ...(await problemsOf(journal, verifyJournal)),
    ...(await problemsOf(outsideTasksFile(directory), verifyOutsideTasks)),
  ];
}

/** Does the same for the databases of the broker alone. The caller keeps brokers off the directory. */
export async function verifyBrokerData(directory: string): Promise<string[]> {
  const { messages, tokens, audit, operatorToken } = brokerFiles(directory);
  const { journal, token } = orchestratorFiles(directory);
  const later = [audit, operatorToken, journal, token];
  const absent = refuseAbsent(
    [
      { file: messages, madeLater: [tokens, ...later] },
      { file: tokens, madeLater: later },
    ],
    true,
  );
  return [
    ...(absent === undefined ? [] : [absent]),
    ...(await problemsOf(messages, verifyInboxStore)),
    ...(await problemsOf(tokens, verifyTokenStore)),
    ...(await problemsOf(audit, verifyAuditLog)),
  ];
}

async function problemsOf(file: string, read: (file: string) => unknown): Promise<string[]> {
  if (!existsSync(file)) return [];
  using _clean = withoutTraces(file);
  try {
    const found = (await read(file)) as { problems?: string[] };
    return (found.problems ?? []).map((problem) => `${file}: ${problem}`);
  } catch (thrown) {
    return [messageOf(thrown)];
  }
}

/**
 * Removes the files that SQLite makes beside a database for a reader, if they were not there before. If another user than the broker's
 * had made them, the broker could not open its own database.
 */
export function withoutTraces(file: string): Disposable {
  const made = [`${file}-wal`, `${file}-shm`].filter((beside) => !existsSync(beside));
  return {
    [Symbol.dispose]: () => {
      for (const beside of made) rmSync(beside, { force: true });
    },
  };
}
