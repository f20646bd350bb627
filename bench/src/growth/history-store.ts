import { unlessAborted } from '../abortable.ts';
import { startProcess } from '../processes.ts';

export interface HistorySetup {
  dataDir: string;
  /** Epoch milliseconds. */
  clockAt: number;
}

/** Times of the store without a broker, in milliseconds. */
export interface HistoryFacts {
  openMs: number[];
  /** A page of what was created from now on: there is none, but what is recent is looked through. */
  newestPageMs: number[];
  /** The first page of everything. */
  wholePageMs: number;
  /** The longest time without a turn of the event loop meanwhile. */
  longestStepMs: number;
  /** Steps of housekeeping with nothing to drop, then those that dropped pages. */
  sweepMs: number[];
  dropMs: number[];
}

const answerTimeoutMs = 10 * 60 * 1000;

/** Measures the store alone, and in the end drops all that it remembers. */
export async function measureHistoryStore(setup: HistorySetup, signal: AbortSignal): Promise<HistoryFacts> {
  await using child = await startProcess(new URL('./history-process.ts', import.meta.url), setup);
  return await unlessAborted(signal, () => child.ask<HistoryFacts>({}, answerTimeoutMs));
}
