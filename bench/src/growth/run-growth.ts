import { messageOf } from '@signalbox/protocol';
import { measureConnections } from './connections.ts';
import type { GrowthOptions, GrowthReport, Ladder } from './growth-report.ts';
import { measureHistory } from './history.ts';
import { measureInboxes } from './inboxes.ts';
import { measurePending } from './pending.ts';
import { measureStart } from './start.ts';

const parts: Record<Ladder['name'], (options: GrowthOptions) => Promise<Ladder>> = {
  pending: measurePending,
  inboxes: measureInboxes,
  connections: measureConnections,
  history: measureHistory,
  start: measureStart,
};

/**
 * Measures how costs grow, one kind after the other. A measurement that fails is left out, with its reason. Rejects with the reason of
 * `signal` when that aborts. Takes up to 2 GB below the temporary directory, and removes them.
 */
export async function runGrowth(options: GrowthOptions): Promise<GrowthReport> {
  const report: GrowthReport = { ladders: [], skipped: [] };
  for (const [name, measurePart] of Object.entries(parts)) {
    options.signal.throwIfAborted();
    try {
      report.ladders.push(await measurePart(options));
    } catch (thrown) {
      options.signal.throwIfAborted();
      report.skipped.push({ name: `growth: ${name}`, reason: messageOf(thrown) });
      options.tell(`left out: growth: ${name}: ${messageOf(thrown)}`);
    }
  }
  return report;
}
