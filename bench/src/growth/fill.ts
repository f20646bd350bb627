import { unlessAborted } from '../abortable.ts';
import { startProcess } from '../processes.ts';
import { settleDisk } from './data-directory.ts';

/** The content with which a data directory is filled before its broker starts. Inboxes are called `in-0`, `in-1`, … and are known. */
export type FillOrder = { dataDir: string } & (
  | { type: 'pending'; inboxes: number; each: number; bodyBytes: number }
  /** Half of the messages are requests, half are replies; they were settled in the ten minutes before `until`, in epoch milliseconds. */
  | { type: 'settled'; rows: number; until: number }
);

const answerTimeoutMs = 30 * 60 * 1000;

/** Fills a directory through the store, in a process of its own. Resolves when all of it is on disk. */
export async function fill(order: FillOrder, signal: AbortSignal): Promise<void> {
  await using filler = await startProcess(new URL('./fill-process.ts', import.meta.url), {});
  await unlessAborted(signal, () => filler.ask(order, answerTimeoutMs));
  await settleDisk();
}
