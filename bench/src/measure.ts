import { median, quantileOf } from './statistics.ts';

/** One timed run: completed operations per second, and the latency of single ones in milliseconds. */
export interface Measurement {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** A run as {@link measure} sees it. */
export interface MeasuredRun extends Measurement {
  /** The number of all operations, those of the warm-up included. */
  operations: number;
}

/**
 * Keeps one operation running in each of `lanes` for `seconds`, and times each. Operations that end in the first tenth are warm-up and are
 * not counted; those that run at the end are waited for and counted, with their time.
 */
export async function measure(
  operation: (lane: number) => Promise<unknown>,
  options: { lanes: number; seconds: number },
): Promise<MeasuredRun> {
  const start = performance.now();
  const countFrom = start + options.seconds * 100;
  const end = start + options.seconds * 1000;
  const latencies: number[] = [];
  let operations = 0;
  const run = async (lane: number): Promise<void> => {
    for (;;) {
      const began = performance.now();
      if (began >= end) return;
      await operation(lane);
      const ended = performance.now();
      operations++;
      if (ended >= countFrom) latencies.push(ended - began);
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, (_, lane) => run(lane)));
  const counted = (performance.now() - countFrom) / 1000;
  return {
    perSecond: latencies.length / counted,
    p50Ms: quantileOf(latencies, 0.5),
    p99Ms: quantileOf(latencies, 0.99),
    operations,
  };
}

/** Returns the median of several runs, for each figure separately. */
export function medianOf(runs: readonly Measurement[]): Measurement {
  const middle = (pick: (run: Measurement) => number): number => median(runs.map(pick));
  return {
    perSecond: middle((r) => r.perSecond),
    p50Ms: middle((r) => r.p50Ms),
    p99Ms: middle((r) => r.p99Ms),
  };
}
