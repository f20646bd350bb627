import { join } from 'node:path';
import { median } from '../statistics.ts';
import { settleDisk, temporaryDirectory } from './data-directory.ts';
import { fill } from './fill.ts';
import { startGrowthBroker } from './growth-broker.ts';
import type { CostKind, GrowthOptions, Ladder } from './growth-report.ts';
import { type HistoryFacts, measureHistoryStore } from './history-store.ts';
import { Samples } from './samples.ts';
import { openWarm, type Turnover, turnOver, turnOverFor, turnoverKinds } from './turnover.ts';

const { deliverUs, deliverCpuUs, takeUs, takeCpuUs } = turnoverKinds;

const kinds = {
  deliverUs,
  deliverCpuUs,
  takeUs,
  takeCpuUs,
  readyMs: { name: 'start: broker process spawned to listening', unit: 'ms' },
  openMs: { name: 'the store alone: open', unit: 'ms' },
  sweepMs: { name: 'a step of housekeeping with nothing to drop, median', unit: 'ms' },
  sweepMaxMs: { name: 'a step of housekeeping with nothing to drop, longest of 200', unit: 'ms' },
  dropMs: { name: 'a step that drops pages, median', unit: 'ms' },
  dropMaxMs: { name: 'a step that drops pages, longest', unit: 'ms' },
  newestPageMs: { name: 'a page of `history` of the newest', unit: 'ms' },
  wholePageMs: { name: 'the first page of the whole `history`', unit: 'ms' },
  longestStepMs: {
    name: 'the first page of the whole `history`: longest time in which nothing else ran',
    unit: 'ms',
  },
} as const satisfies Record<string, CostKind>;

type CostSamples = Samples<keyof typeof kinds>;
const turnoverNames = [
  'deliverUs',
  'deliverCpuUs',
  'takeUs',
  'takeCpuUs',
] as const satisfies (keyof Turnover)[];

/** Ever more settled messages that the store remembers. */
export async function measureHistory(options: GrowthOptions): Promise<Ladder> {
  const { rounds, seconds, full, signal, tell } = options;
  const sizes = full ? [10_000, 1_000_000, 10_000_000] : [10_000, 1_000_000];
  const clockAt = Date.now();
  await using home = await temporaryDirectory('history');
  const dirOf = (size: number): string => join(home.path, `${size}`);
  for (const size of sizes) {
    tell(`growth: storing and settling ${size.toLocaleString('en')} messages`);
    await fill({ type: 'settled', dataDir: dirOf(size), rows: size, until: clockAt }, signal);
  }
  const samples: CostSamples = new Samples(sizes.length, kinds);
  for (let round = 1; round <= rounds; round++) {
    for (const [at, size] of sizes.entries()) {
      // Nothing may be forgotten while it is measured.
      await using broker = await startGrowthBroker({ dataDir: dirOf(size), clockAt }, signal);
      samples.add('readyMs', at, broker.readyMs);
      await using warm = await openWarm(broker, signal);
      const [token] = await broker.issue(['pile']);
      await turnOverFor(seconds, signal, async () => {
        const costs = await turnOver(broker, warm.sender, { agent: 'pile', token: token! });
        for (const name of turnoverNames) samples.add(name, at, costs[name]);
      });
      tell(`growth: round ${round} of ${rounds}: ${size.toLocaleString('en')} settled`);
    }
  }
  await settleDisk();
  for (const [at, size] of sizes.entries()) {
    addStoreFacts(samples, at, await measureHistoryStore({ dataDir: dirOf(size), clockAt }, signal));
    tell(`growth: the store alone with ${size.toLocaleString('en')} settled`);
  }
  return {
    name: 'history',
    sizes: sizes.map((size) => ({ size, label: size.toLocaleString('en') })),
    costs: samples.costs(),
    notes: full ? [] : ['10,000,000 settled messages are measured only with `--full`.'],
  };
}

function addStoreFacts(samples: CostSamples, at: number, facts: HistoryFacts): void {
  samples.add('openMs', at, ...facts.openMs);
  samples.add('sweepMs', at, median(facts.sweepMs));
  samples.add('sweepMaxMs', at, Math.max(...facts.sweepMs));
  samples.add('newestPageMs', at, ...facts.newestPageMs);
  samples.add('wholePageMs', at, facts.wholePageMs);
  samples.add('longestStepMs', at, facts.longestStepMs);
  if (facts.dropMs.length === 0) return;
  samples.add('dropMs', at, ...facts.dropMs);
  samples.add('dropMaxMs', at, Math.max(...facts.dropMs));
}
