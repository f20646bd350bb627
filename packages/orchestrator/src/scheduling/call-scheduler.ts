import type { CancelSignal, ToolCallError } from '@signalbox/protocol';
import type { CallLimits, ServerLimits } from './call-limits.ts';
import { FairQueue, type QueuedCall, type Refusal } from './fair-queue.ts';
import { RetryEstimate } from './retry-estimate.ts';

/**
 * The way in which the wait of a call ended. Only a call that `ran` was started. `aborted`: its caller cancelled it while it waited.
 * `handed_back`: the scheduler was closed while it waited, perhaps with a refusal of all that wait. `refused`: it may not wait, because the `waiting` calls of its worker, or those
 * of all workers, take up the room.
 */
export type CallTurn<T> =
  | { status: 'ran'; value: T }
  | { status: 'aborted' }
  | { status: 'handed_back'; refusal?: ToolCallError }
  | { status: 'refused'; reason: Refusal; waiting: number; retryAfterSeconds: number };

/** Runs calls within {@link CallLimits}, in the order of {@link FairQueue}. */
export interface CallScheduler {
  /**
   * Runs the task when it is the call's turn, and keeps the call's slots until the task ends. Rejects if the task does. If the call has to
   * wait, `onWait` is called with a function that returns its place in the line of its server, 1 for the next.
   */
  run<T>(
    call: QueuedCall,
    signal: CancelSignal,
    task: () => Promise<T>,
    onWait?: (position: () => number | undefined) => void,
  ): Promise<CallTurn<T>>;
  /** Hands back or refuses all waiting calls, and all that come later. Running calls continue. A second call has no effect. */
  close(refusal?: ToolCallError): void;
  /** Replaces the limits of single servers, and starts the calls for which there is room now. */
  setServerLimits(limits: ServerLimits): void;
  /** Returns the number of calls that run on one server, and that wait for it. */
  serverLoad(server: string): { running: number; waiting: number };
  readonly running: number;
  readonly waiting: number;
}

interface Entry extends QueuedCall {
  stopListening(): void;
  /** Runs the task. Resolves when it has ended in any way. */
  run(): Promise<void>;
  end(how: CallTurn<never>): void;
}

/** The weight of the newest call in the average duration of calls. */
const newestWeight = 0.1;

/** Creates a scheduler. `now` is in monotonic milliseconds. */
export function createCallScheduler(
  limits: CallLimits,
  now: () => number = () => performance.now(),
): CallScheduler {
  const queue = new FairQueue<Entry>(limits);
  /** The estimate of each worker that has waiting calls. */
  const estimates = new Map<string, RetryEstimate>();
  let averageMs: number | undefined;
  let closed: CallTurn<never> | undefined;

  const startReadyCalls = () => {
    for (let entry = queue.next(); entry !== undefined; entry = queue.next()) void start(entry);
  };
  const start = async (entry: Entry) => {
    const startedAt = now();
    estimates.get(entry.worker)?.started(startedAt);
    forgetIdleEstimate(entry.worker);
    entry.stopListening();
    await entry.run();
    finished(entry, startedAt);
  };
  /** Runs a call that need not wait, like nearly all calls. */
  const runAtOnce = async <T>(call: QueuedCall, task: () => Promise<T>): Promise<CallTurn<T>> => {
    const startedAt = now();
    if (estimates.size > 0) estimates.get(call.worker)?.started(startedAt);
    try {
      return { status: 'ran', value: await task() };
    } finally {
      finished(call, startedAt);
    }
  };
  const finished = (call: QueuedCall, startedAt: number) => {
    const ranMs = now() - startedAt;
    averageMs = averageMs === undefined ? ranMs : averageMs + newestWeight * (ranMs - averageMs);
    queue.finished(call);
    if (queue.waiting > 0) startReadyCalls();
  };
  const forgetIdleEstimate = (worker: string) => {
    if (queue.load(worker).waiting === 0) estimates.delete(worker);
  };
  const refuse = (worker: string, reason: Refusal): CallTurn<never> => {
    const { running, waiting } = queue.load(worker);
    const estimate = estimates.get(worker) ?? new RetryEstimate(now());
    const expectedMs = (averageMs ?? 0) / Math.max(1, running);
    return { status: 'refused', reason, waiting, retryAfterSeconds: estimate.refuse(now(), expectedMs) };
  };

  return {
    get running() {
      return queue.running;
    },
    get waiting() {
      return queue.waiting;
    },
    run<T>(
      call: QueuedCall,
      signal: CancelSignal,
      task: () => Promise<T>,
      onWait?: (position: () => number | undefined) => void,
    ): Promise<CallTurn<T>> {
      const { worker, server } = call;
      if (signal.aborted) return Promise.resolve({ status: 'aborted' });
      if (closed) return Promise.resolve(closed);
      if (queue.startAtOnce(call)) return runAtOnce(call, task);
      const { promise, resolve, reject } = Promise.withResolvers<CallTurn<T>>();
      const onAbort = () => {
        if (!queue.remove(entry)) return;
        forgetIdleEstimate(worker);
        resolve({ status: 'aborted' });
      };
      const entry: Entry = {
        worker,
        server,
        stopListening: () => signal.removeEventListener('abort', onAbort),
        async run() {
          try {
            resolve({ status: 'ran', value: await task() });
          } catch (thrown) {
            reject(thrown);
          }
        },
        end(how) {
          entry.stopListening();
          resolve(how);
        },
      };
      const refusal = queue.enqueue(entry);
      if (refusal !== undefined) return Promise.resolve(refuse(worker, refusal));
      startReadyCalls();
      if (queue.has(entry)) {
        signal.addEventListener('abort', onAbort, { once: true });
        onWait?.(() => queue.position(entry));
      }
      if (queue.load(worker).waiting > 0 && !estimates.has(worker)) {
        estimates.set(worker, new RetryEstimate(now()));
      }
      return promise;
    },
    setServerLimits(servers) {
      queue.setServerLimits(servers);
      startReadyCalls();
    },
    serverLoad: (server) => queue.serverLoad(server),
    close(refusal) {
      closed ??= { status: 'handed_back', ...(refusal && { refusal }) };
      for (const entry of queue.removeAll()) entry.end(closed);
      estimates.clear();
    },
  };
}
