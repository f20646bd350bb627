import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startProcess } from '../processes.ts';

export interface BrokerSetup {
  dataDir: string;
  /** The time that its clock shows at the start, in epoch milliseconds; the true time if absent. */
  clockAt?: number;
}

export type BrokerOrder = { type: 'issue'; agents: readonly string[] } | { type: 'memory' };

/** The memory of a process that rests, and has collected its garbage. `liveBytes` is the size of the heap and its buffers, `rssBytes` that of the process. */
export interface BrokerMemory {
  rssBytes: number;
  liveBytes: number;
}

/** A broker (`full`, limits lifted) in its own process, which reports its use of memory and processor time. */
export interface GrowthBroker extends AsyncDisposable {
  url: string;
  /** The time from its spawn until it listened. */
  readyMs: number;
  /** Issues tokens for workers, in order. */
  issue(agents: readonly string[]): Promise<string[]>;
  /** Connects an agent. The connection also ends with the signal. */
  connect(as: { agent: string; token: string }): Promise<BrokerClient>;
  memory(): Promise<BrokerMemory>;
  /** Returns the time that passed and the CPU time of the broker while `work` ran. */
  costOf(work: () => Promise<unknown>): Promise<{ wallMs: number; cpuMs: number }>;
}

const answerTimeoutMs = 120_000;

export async function startGrowthBroker(setup: BrokerSetup, signal: AbortSignal): Promise<GrowthBroker> {
  signal.throwIfAborted();
  const began = performance.now();
  const child = await startProcess(new URL('./growth-broker-process.ts', import.meta.url), setup);
  const readyMs = performance.now() - began;
  const ask = <T>(order: BrokerOrder): Promise<T> => child.ask<T>(order, answerTimeoutMs);
  const { url } = child.facts as { url: string };
  return {
    url,
    readyMs,
    issue: (agents) => ask({ type: 'issue', agents }),
    connect: (as) => connectBroker({ url, ...as, signal }),
    memory: () => ask({ type: 'memory' }),
    costOf: async (work) => {
      const cpuBefore = await child.cpuMs();
      const start = performance.now();
      await work();
      const wallMs = performance.now() - start;
      return { wallMs, cpuMs: (await child.cpuMs()) - cpuBefore };
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
