import { setTimeout as wait } from 'node:timers/promises';
import { quantileOf } from '../statistics.ts';
import type { LoadFigures } from './fleet-report.ts';

/** The end of an operation: done, or refused, with the wait that the refusal asked for, if any. */
export type Ended = 'done' | { retryAfterMs: number };

export interface LoadWorker {
  /** The number of operations in flight. */
  lanes: number;
  operation: () => Promise<Ended>;
}

export interface SteadyLoad {
  /** Ends the warm-up: operations count from here. */
  mark(): void;
  /** Resolves when all operations in flight have ended, with the counts at the time of the call. */
  stop(): Promise<LoadFigures>;
}

/**
 * The wait after a refusal that the sender ignores, in milliseconds. Without it the sender would be refused again at once and never yield
 * to the event loop.
 */
const restlessMs = 1;

/** Keeps every lane of every worker busy. With `heeds`, a refused lane waits as long as the refusal says. */
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
  // `stop` reports the error later.
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
