import { setTimeout as wait } from 'node:timers/promises';
import { quantileOf } from '../statistics.ts';
import type { LoadFigures } from './fleet-report.ts';

/** How an operation ended: done, or turned away, with what it was told to wait if anything. */
export type Ended = 'done' | { retryAfterMs: number };

export interface LoadWorker {
  /** Operations in flight. */
  lanes: number;
  operation: () => Promise<Ended>;
}

export interface SteadyLoad {
  /** The warm-up is over: counts from here. */
  mark(): void;
  /** Resolves, when all that was in flight has ended, with what had ended at the time of the call. */
  stop(): Promise<LoadFigures>;
}

/** A sender that ignores the refusals is refused again at once, and would otherwise never yield to the event loop. */
const restlessMs = 1;

/** Keeps every lane of every worker busy. With `heeds`, a lane that was turned away waits as long as it was told. */
export function startLoad(workers: readonly LoadWorker[], { heeds }: { heeds: boolean }): SteadyLoad {
  const stopped = new AbortController();
  let markedAt = performance.now();
  let done = workers.map(() => 0);
  let latencies: number[] = [];
  let refused = 0;
  const run = async (worker: number, operation: LoadWorker['operation']): Promise<void> => {
    while (!stopped.signal.aborted) {
      const began = performance.now();
      const ended = await operation();
      if (ended === 'done') {
        done[worker]!++;
        latencies.push(performance.now() - began);
        continue;
      }
      refused++;
      const pauseMs = heeds ? ended.retryAfterMs : restlessMs;
      await wait(pauseMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
  };
  const lanes = workers.flatMap(({ lanes, operation }, worker) =>
    Array.from({ length: lanes }, () => run(worker, operation)),
  );
  const running = Promise.all(lanes);
  // It is reported by `stop`, which may come later.
  running.catch(() => {});
  return {
    mark() {
      markedAt = performance.now();
      done = workers.map(() => 0);
      latencies = [];
      refused = 0;
    },
    async stop() {
      stopped.abort();
      const seconds = (performance.now() - markedAt) / 1000;
      const [p50Ms, p99Ms] = [quantileOf(latencies, 0.5), quantileOf(latencies, 0.99)];
      const figures = { seconds, done: [...done], refused, p50Ms, p99Ms };
      await running;
      return figures;
    },
  };
}
