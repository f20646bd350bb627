import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { describeFile, finishCopy, makeEmptyFile } from './copied-file.ts';
import type { CopyOrder, CopyReport } from './copy-database.ts';

/**
 * This thread copies a database, so that neither reading it nor syncing the copy holds up the process. One read transaction spans the copy:
 * it shows the database at one moment, and no writer has to wait.
 */
const pagesAtOnce = 2048;

const { source, target } = workerData as CopyOrder;
const tell = (report: CopyReport): void => parentPort?.postMessage(report);

async function copy(): Promise<void> {
  makeEmptyFile(target);
  const db = new Database(source, { readonly: true, fileMustExist: true, timeout: 2000 });
  try {
    const pageSize = db.pragma('page_size', { simple: true }) as number;
    db.exec('BEGIN');
    // A transaction begins with its first read.
    db.pragma('user_version');
    await db.backup(target, {
      progress: ({ totalPages, remainingPages }) => {
        tell({ copiedBytes: (totalPages - remainingPages) * pageSize, totalBytes: totalPages * pageSize });
        return pagesAtOnce;
      },
    });
  } finally {
    db.close();
  }
  await finishCopy(target);
  tell({ file: await describeFile(target) });
}

copy().catch((thrown: unknown) => {
  const { message, code } = thrown as NodeJS.ErrnoException;
  tell({ failed: { message, ...(code !== undefined && { code }) } });
});
