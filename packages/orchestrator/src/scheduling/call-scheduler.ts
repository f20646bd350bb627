import type { CancelSignal, ToolCallError } from '@signalbox/protocol';
import type { CallLimits, ServerLimits } from './call-limits.ts';
import { FairQueue, type QueuedCall, type Refusal } from './fair-queue.ts';
import { RetryEstimate } from './retry-estimate.ts';

/**
 * The way in which the wait of a call ended. Only a call that has `begun` may start: it keeps its slots until `end` is called, once.
 * `aborted`: its caller cancelled it while it waited. `handed_back`: the scheduler was closed while it waited, perhaps with a refusal of all
 * that wait. `refused`: it may not wait, because the `waiting` calls of its worker, or those of all workers, take up the room.
 */
export type CallTurn =
  | { status: 'begun'; end(): void }
  | { status: 'aborted' }
  | { status: 'handed_back'; refusal?: ToolCallError }
  | { status: 'refused'; reason: Refusal; waiting: number; retryAfterSeconds: number };

/** A turn that does not come. */
export type NoTurn = Exclude<CallTurn, { status: 'begun' }>;

/** Gives calls their turns within {@link CallLimits}, in the order of {@link FairQueue}. */
export interface CallScheduler {
  /**
   * Returns the turn of a call that need not wait, like nearly all calls; for others, a promise that never rejects. If the call has to wait,
   * `onWait` is called with a function that returns its place in the line of its server, 1 for the next.
   */
  enter(
    call: QueuedCall,
    signal: CancelSignal,
    onWait?: (position: () => number | undefined) => void,
  ): CallTurn | Promise<CallTurn>;
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
  resolve(turn: CallTurn): void;
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
  let closed: NoTurn | undefined;

  const startReadyCalls = () => {
    for (let entry = queue.next(); entry !== undefined; entry = queue.next()) {
      entry.stopListening();
      entry.resolve(begin(entry));
      forgetIdleEstimate(entry.worker);
    }
  };
  const begin = (call: QueuedCall): CallTurn => {
    const startedAt = now();
    if (estimates.size > 0) estimates.get(call.worker)?.started(startedAt);
    return { status: 'begun', end: () => finished(call, startedAt) };
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
  const refuse = (worker: string, reason: Refusal): NoTurn => {
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
    enter(call, signal, onWait) {
      const { worker, server } = call;
      if (signal.aborted) return { status: 'aborted' };
      if (closed) return closed;
      if (queue.startAtOnce(call)) return begin(call);
      const { promise, resolve } = Promise.withResolvers<CallTurn>();
      const onAbort = () => {
        if (!queue.remove(entry)) return;
        forgetIdleEstimate(worker);
        resolve({ status: 'aborted' });
      };
      const stopListening = () => signal.removeEventListener('abort', onAbort);
      const entry: Entry = { worker, server, stopListening, resolve };
      const refusal = queue.enqueue(entry);
      if (refusal !== undefined) return refuse(worker, refusal);
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
      for (const { stopListening, resolve } of queue.removeAll()) {
        stopListening();
        resolve(closed);
      }
      estimates.clear();
    },
  };
}
