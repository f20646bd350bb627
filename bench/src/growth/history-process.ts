import { monitorEventLoopDelay } from 'node:perf_hooks';
import { brokerFiles } from '@signalbox/broker';
import { type InboxStore, openSqliteInboxStore, steadyTime } from '@signalbox/store';
import { serveParent, setupOf } from '../processes.ts';
import type { HistoryFacts, HistorySetup } from './history-store.ts';

const opens = 5;
const sweeps = 200;
const pages = 5;
const pageSize = 200;
/** Far longer than the store keeps any settled message, in milliseconds. */
const agesMs = 30 * 24 * 60 * 60 * 1000;

const { dataDir, clockAt } = setupOf<HistorySetup>();
let now = clockAt;
serveParent({ obey: measureStore, stop: async () => {} });

async function measureStore(): Promise<HistoryFacts> {
  const openMs: number[] = [];
  for (let i = 1; i < opens; i++) {
    const opened = await openTimed();
    openMs.push(opened.ms);
    await opened.store[Symbol.asyncDispose]();
  }
  const opened = await openTimed();
  await using store = opened.store;
  openMs.push(opened.ms);
  const newestPageMs: number[] = [];
  for (let i = 0; i < pages; i++)
    newestPageMs.push(await timed(() => store.history({ since: now, limit: pageSize })));
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const wholePageMs = await timed(() => store.history({ since: 0, limit: pageSize }));
  delays.disable();
  const sweepMs: number[] = [];
  for (let i = 0; i < sweeps; i++) sweepMs.push(await timed(() => store.sweep(steadyTime(now))));
  return {
    openMs,
    newestPageMs,
    wholePageMs,
    longestStepMs: delays.max / 1e6,
    sweepMs,
    dropMs: await dropAll(store),
  };
}

async function openTimed(): Promise<{ store: InboxStore; ms: number }> {
  const began = performance.now();
  const file = brokerFiles(dataDir).messages;
  const store = await openSqliteInboxStore({ file, durability: 'full', now: () => now });
  return { store, ms: performance.now() - began };
}

/** Lets all settled messages age and sweeps until nothing is removed any more; returns the times of the steps that dropped pages. */
async function dropAll(store: InboxStore): Promise<number[]> {
  const times: number[] = [];
  now += agesMs;
  // Recent messages have aged now; their pages become old only later.
  await store.sweep(steadyTime(now));
  now += agesMs;
  for (;;) {
    const { usedBytes: before } = await store.usage();
    const ms = await timed(() => store.sweep(steadyTime(now)));
    const { usedBytes: after } = await store.usage();
    if (after >= before) return times;
    times.push(ms);
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
