import { Worker } from 'node:worker_threads';
import { StoreError } from '../../store-error.ts';
import { toStoreError } from '../database.ts';
import type { CopiedFile } from './copied-file.ts';

/** The database to copy, and the file that the copy is written to. */
export interface CopyOrder {
  source: string;
  target: string;
}

/** A report of the thread that copies. */
export type CopyReport =
  | { copiedBytes: number; totalBytes: number }
  | { file: CopiedFile }
  | { failed: { message: string; code?: string } };

/** The options by which a caller follows a copy or cancels it. */
export interface CopyOptions {
  signal: AbortSignal;
  onProgress?: (progress: { copiedBytes: number; totalBytes: number }) => void;
}

/**
 * Copies a database, which may be in use, to a file that does not exist. The copy shows the database at one moment. It is one file,
 * readable by its owner only, and on disk when this resolves. Rejects with a `StoreError`, or with the reason of the signal; the caller
 * removes the incomplete copy.
 */
export async function copyDatabase(order: CopyOrder, options: CopyOptions): Promise<CopiedFile> {
  const { signal, onProgress } = options;
  signal.throwIfAborted();
  const worker = new Worker(workerFile, { workerData: order });
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      worker.on('message', (report: CopyReport) => {
        if ('file' in report) resolve(report.file);
        else if ('failed' in report) reject(copyError(report.failed, order.target));
        else onProgress?.(report);
      });
      worker.on('error', (thrown) => reject(toStoreError(thrown, order.target)));
      worker.on('exit', () =>
        reject(new StoreError('store_failed', `${order.target}: the copy ended without a result.`)),
      );
    });
  } finally {
    await worker.terminate();
  }
}

/** The thread runs the source if this file is source, and the compiled file otherwise. */
const workerFile = import.meta.url.endsWith('.ts')
  ? new URL('./copy-worker.ts', import.meta.url)
  : new URL('./copy-worker.js', import.meta.url);

function copyError({ message, code }: { message: string; code?: string }, file: string): StoreError {
  return toStoreError(Object.assign(new Error(message), { code }), file);
}
