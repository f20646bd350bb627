import type { CallLimits, ServerLimits } from './call-limits.ts';
import { FairQueue, type QueuedCall, type Refusal } from './fair-queue.ts';
import { WaitingPace } from './retry-estimate.ts';

/**
 * What became of a call. Only one that `ran` was started: `aborted` gave up while it waited, `handed_back` waited when
 * the scheduler was closed, `refused` found no place to wait; `waiting` are the calls of its worker that do.
 */
export type CallTurn<T> =
  | { status: 'ran'; value: T }
  | { status: 'aborted' }
  | { status: 'handed_back' }
  | { status: 'refused'; reason: Refusal; waiting: number; retryAfterSeconds: number };

/** Runs calls within {@link CallLimits}, in the order of {@link FairQueue}. */
export interface CallScheduler {
  /** Holds the places of a call until the task ends, however it ends; rejects with what the task throws. */
  run<T>(call: QueuedCall, signal: AbortSignal, task: () => Promise<T>): Promise<CallTurn<T>>;
  /** Hands back what waits and all that comes; what runs goes on. */
  close(): void;
  /** Replaces the limits of single servers; calls for which there is room now start at once. */
  setServerLimits(limits: ServerLimits): void;
  /** How much runs on one server and waits for it. */
  serverLoad(server: string): { running: number; waiting: number };
  readonly running: number;
  readonly waiting: number;
}

interface Entry extends QueuedCall {
  /** Its turn has come, or will not come any more. */
  stopWaiting(): void;
  run(): Promise<void>;
  handBack(): void;
}

/** Weight of the newest call in the average of how long calls run. */
const newestWeight = 0.1;

/** `now` is in monotonic milliseconds. */
export function createCallScheduler(
  limits: CallLimits,
  now: () => number = () => performance.now(),
): CallScheduler {
  const queue = new FairQueue<Entry>(limits);
  const paces = new Map<string, WaitingPace>();
  let averageMs: number | undefined;
  let isClosed = false;

  const left = (worker: string) => {
    if (queue.load(worker).waiting === 0) paces.delete(worker);
  };
  const runNext = async (entry: Entry) => {
    const startedAt = now();
    paces.get(entry.worker)?.started(startedAt);
    left(entry.worker);
    entry.stopWaiting();
    await entry.run();
    ended(entry, startedAt);
  };
  const ended = (call: QueuedCall, startedAt: number) => {
    const ranMs = now() - startedAt;
    averageMs = averageMs === undefined ? ranMs : averageMs + newestWeight * (ranMs - averageMs);
    queue.finished(call);
    startWhatCan();
  };
  const runStarted = async <T>(call: QueuedCall, task: () => Promise<T>): Promise<CallTurn<T>> => {
    const startedAt = now();
    try {
      return { status: 'ran', value: await task() };
    } finally {
      ended(call, startedAt);
    }
  };
  const startWhatCan = () => {
    for (let entry = queue.next(); entry !== undefined; entry = queue.next()) void runNext(entry);
  };
  const turnAway = (worker: string, reason: Refusal): CallTurn<never> => {
    const { running, waiting } = queue.load(worker);
    const pace = paces.get(worker) ?? new WaitingPace(now());
    const expectedMs = (averageMs ?? 0) / Math.max(1, running);
    return { status: 'refused', reason, waiting, retryAfterSeconds: pace.turnAway(now(), expectedMs) };
  };

  return {
    get running() {
      return queue.running;
    },
    get waiting() {
      return queue.waiting;
    },
    run<T>(call: QueuedCall, signal: AbortSignal, task: () => Promise<T>) {
      if (signal.aborted) return Promise.resolve<CallTurn<T>>({ status: 'aborted' });
      if (isClosed) return Promise.resolve<CallTurn<T>>({ status: 'handed_back' });
      if (queue.startAtOnce(call)) return runStarted(call, task);
      const { worker, server, bytes } = call;
      const { promise, resolve, reject } = Promise.withResolvers<CallTurn<T>>();
      const giveUp = () => {
        if (!queue.remove(entry)) return;
        left(worker);
        resolve({ status: 'aborted' });
      };
      let isWaiting = false;
      const stopWaiting = () => {
        if (isWaiting) signal.removeEventListener('abort', giveUp);
      };
      const entry: Entry = {
        worker,
        server,
        bytes,
        stopWaiting,
        async run() {
          try {
            resolve({ status: 'ran', value: await task() });
          } catch (thrown) {
            reject(thrown);
          }
        },
        handBack() {
          stopWaiting();
          resolve({ status: 'handed_back' });
        },
      };
      const refusal = queue.enqueue(entry);
      if (refusal !== undefined) return Promise.resolve(turnAway(worker, refusal));
      startWhatCan();
      isWaiting = queue.has(entry);
      if (isWaiting) signal.addEventListener('abort', giveUp, { once: true });
      if (queue.load(worker).waiting > 0 && !paces.has(worker)) paces.set(worker, new WaitingPace(now()));
      return promise;
    },
    setServerLimits(servers) {
      queue.setServerLimits(servers);
      startWhatCan();
    },
    serverLoad: (server) => queue.serverLoad(server),
    close() {
      isClosed = true;
      for (const entry of queue.removeAll()) entry.handBack();
      paces.clear();
    },
  };
}
