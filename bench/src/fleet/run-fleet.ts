import { fairCalls, slowTool } from './fair-calls.ts';
import { fairMessages } from './fair-messages.ts';
import type { FleetReport } from './fleet-report.ts';
import { recoveries } from './recovery.ts';

export interface FleetOptions {
  rounds: number;
  /** The seconds of one run with or without the greedy worker; at least five for calls, of which each worker makes about ten per second. */
  seconds: number;
  signal: AbortSignal;
  tell: (line: string) => void;
}

const fairWorkers = 30;
const recoveringWorkers = 100;
const leastSeconds = 5;

/**
 * Measures how a fleet shares its capacity with a greedy worker, and how it recovers from kill -9 of each of its parts. A kill takes about
 * 12 s, so three rounds take about three minutes. Rejects with the signal's reason when it aborts; no process and no file is left.
 */
export async function runFleet(options: FleetOptions): Promise<FleetReport> {
  const { rounds, seconds, signal, tell } = options;
  const modest = fairWorkers - 1;
  const calls = await fairCalls(modest, { ...options, seconds: Math.max(seconds, leastSeconds) });
  const messages = await fairMessages(modest, options);
  const { recovery, calm } = await recoveries(recoveringWorkers, { rounds, signal, tell });
  return {
    workers: { fair: fairWorkers, recovering: recoveringWorkers },
    tool: slowTool,
    calls,
    messages,
    recovery,
    calm,
  };
}
