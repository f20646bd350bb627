import { fairCalls, slowTool } from './fair-calls.ts';
import { fairMessages } from './fair-messages.ts';
import type { FleetReport } from './fleet-report.ts';
import { recoveries } from './recovery.ts';

export interface FleetOptions {
  rounds: number;
  /** Of one run beside or without the greedy one; five at least for calls, of which each worker makes some ten in a second. */
  seconds: number;
  signal: AbortSignal;
  tell: (line: string) => void;
}

const fairWorkers = 30;
const recoveringWorkers = 100;
const leastSeconds = 5;

/**
 * How a fleet shares with a greedy worker, and how it comes back after kill -9 of each of its parts. A kill takes some 12 s, so
 * three rounds some three minutes. Rejects with the signal's reason when it aborts; nothing stays behind.
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
