import { readFile } from 'node:fs/promises';
import { McpProxyExecutor } from '@signalbox/worker';
import { serveParent, setupOf } from '../processes.ts';
import { quantileOf } from '../statistics.ts';
import { type CallEnd, type Tallies, talliesOf, type WatchedCall } from './call-tallies.ts';
import type { FleetReport, Victim } from './fleet-report.ts';
import { monotonicMs } from './monotonic-clock.ts';

/** Workers that call the counting tool in a loop, each one call at a time, through all failures around them. */
export interface RecoveryCallersSetup {
  url: string;
  tool: string;
  toolMs: number;
  counterFile: string;
  workers: { agent: string; token: string }[];
}

/**
 * `killing`: `victim` is about to be killed, at `at` (shared monotonic milliseconds). The answer is {@link Recovered}, once each worker has
 * a result of a call that began after that. The answer to `stop` is {@link CallsMade}.
 */
export type RecoveryOrder = { op: 'start' } | { op: 'killing'; victim: Victim; at: number } | { op: 'stop' };

/** The times from the kill for each worker, ascending; null for a worker that did not get that far in time. */
export interface Recovered {
  workersMs: (number | null)[];
  /** The time until the worker's next connection; null for all workers if no connection was lost. */
  connectedMs: (number | null)[];
}

export interface CallsMade {
  tallies: Tallies;
  /** The latency of the calls before the first kill. */
  calm: FleetReport['calm'];
}

/** The time that a worker may take to come back, and a call to end. A call that has no end 2 s later is lost. */
const answerTimeoutMs = 30_000;
const callTimeoutMs = 15_000;
const graceMs = 2_000;
/** The shortest time between the beginnings of two calls of a worker, so that the fleet is busy and the processor is not full. */
const paceMs = 250;

const { url, tool, toolMs, counterFile, workers } = setupOf<RecoveryCallersSetup>();
const executors = await Promise.all(
  workers.map(({ agent, token }) => McpProxyExecutor.connect({ url, token, agent })),
);
const calls: WatchedCall[] = [];
/** The latencies of calls before anything has been killed. */
const calmMs: number[] = [];
let victim: Victim | undefined;
let onResult: (worker: number, begunAt: number) => void = () => {};
let onConnected: (worker: number) => void = () => {};
executors.forEach(({ client }, worker) => {
  client.onState(({ name }) => {
    if (name === 'ready') onConnected(worker);
  });
});
let isStopping = false;

async function keepCalling(worker: number): Promise<void> {
  for (let n = 0; !isStopping; n++) {
    const begunAt = monotonicMs();
    const call: WatchedCall = { label: `${worker}-${n}`, end: undefined, after: undefined };
    calls.push(call);
    call.end = await endOf(worker, call.label);
    call.after = victim;
    if (victim === undefined) calmMs.push(monotonicMs() - begunAt);
    if (call.end === 'result') onResult(worker, begunAt);
    const pauseMs = begunAt + paceMs - monotonicMs();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function endOf(worker: number, label: string): Promise<CallEnd> {
  const call = { name: tool, arguments: { label, ms: toolMs } };
  const { error } = await executors[worker]!.execute(call, { timeoutMs: callTimeoutMs });
  return error ? { code: error.code, mayHaveRun: error.may_have_run } : 'result';
}

function watch(at: number): Promise<Recovered> {
  const times = new Map<number, number>();
  const connected = new Map<number, number>();
  onConnected = (worker) => {
    if (!connected.has(worker)) connected.set(worker, monotonicMs() - at);
  };
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(late);
      onResult = () => {};
      onConnected = () => {};
      resolve({ workersMs: ascending(times), connectedMs: ascending(connected) });
    };
    const late = setTimeout(finish, answerTimeoutMs);
    onResult = (worker, begunAt) => {
      if (begunAt < at || times.has(worker)) return;
      times.set(worker, monotonicMs() - at);
      if (times.size === workers.length) finish();
    };
  });
}

/** Returns one time for each worker, ascending; null for those that are missing. */
function ascending(times: ReadonlyMap<number, number>): (number | null)[] {
  const found = [...times.values()].sort((a, b) => a - b);
  return [...found, ...Array<null>(workers.length - found.length).fill(null)];
}

/** Lets running calls end, unless they are overdue. */
async function stopAll(running: Promise<unknown>): Promise<CallsMade> {
  isStopping = true;
  const overdue = new Promise((resolve) => setTimeout(resolve, callTimeoutMs + graceMs).unref());
  await Promise.race([running, overdue]);
  const ran = (await readFile(counterFile, 'utf8')).split('\n');
  const calm = { p50Ms: quantileOf(calmMs, 0.5), p99Ms: quantileOf(calmMs, 0.99) };
  return { tallies: talliesOf(calls, ran), calm };
}

let running: Promise<unknown> = Promise.resolve();
serveParent({
  obey: async (asked) => {
    const order = asked as RecoveryOrder;
    if (order.op === 'start') running = Promise.all(workers.map((_, worker) => keepCalling(worker)));
    else if (order.op === 'killing') {
      victim = order.victim;
      return await watch(order.at);
    } else return await stopAll(running);
  },
  stop: () => Promise.all(executors.map((executor) => executor.close())),
});
