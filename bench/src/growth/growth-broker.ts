import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startProcess } from '../processes.ts';

export interface BrokerSetup {
  dataDir: string;
  /** What its clock shows at the start, in epoch milliseconds; the true time if absent. */
  clockAt?: number;
}

export type BrokerOrder = { type: 'issue'; agents: readonly string[] } | { type: 'memory' };

/** After a garbage collection. `liveBytes`: what the heap and its buffers hold; `rssBytes`: what the process takes. */
export interface BrokerMemory {
  rssBytes: number;
  liveBytes: number;
}

/** A broker (`full`, limits lifted) in a process of its own that tells what it uses. */
export interface GrowthBroker extends AsyncDisposable {
  url: string;
  /** Time from its spawn until it listened. */
  readyMs: number;
  /** Tokens of workers, in order. */
  issue(agents: readonly string[]): Promise<string[]>;
  /** The connection ends with the signal, too. */
  connect(as: { agent: string; token: string }): Promise<BrokerClient>;
  memory(): Promise<BrokerMemory>;
  /** Time that passed and CPU time of the broker while `work` lasted. */
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
