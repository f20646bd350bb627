import { Worker } from 'node:worker_threads';
import { StoreError } from '../../store-error.ts';
import { toStoreError } from '../database.ts';
import type { CopiedFile } from './copied-file.ts';

/** The database to copy, and the file that the copy gets. */
export interface CopyOrder {
  source: string;
  target: string;
}

/** A message of the thread that copies. */
export type CopyReport =
  | { copiedBytes: number; totalBytes: number }
  | { file: CopiedFile }
  | { failed: { message: string; code?: string } };

/** How a copy is followed and given up. */
export interface CopyOptions {
  signal: AbortSignal;
  onProgress?: (progress: { copiedBytes: number; totalBytes: number }) => void;
}

/**
 * Copies a database that may be in use to a file that does not exist, as it is at one moment. The copy is one file, readable by its
 * owner only, and on disk when this resolves. Rejects with a `StoreError`, or with the reason of the signal; the caller removes what was
 * written.
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

/** The thread runs the source where this file is source, and else what was compiled of it. */
const workerFile = import.meta.url.endsWith('.ts')
  ? new URL('./copy-worker.ts', import.meta.url)
  : new URL('./copy-worker.js', import.meta.url);

function copyError({ message, code }: { message: string; code?: string }, file: string): StoreError {
  return toStoreError(Object.assign(new Error(message), { code }), file);
}
