import { join } from 'node:path';
import { temporaryDirectory } from './data-directory.ts';
import { fill } from './fill.ts';
import { startGrowthBroker } from './growth-broker.ts';
import type { CostKind, GrowthOptions, Ladder } from './growth-report.ts';
import { Samples } from './samples.ts';
import { openWarm, type Turnover, turnOver, turnOverFor, turnoverKinds } from './turnover.ts';

const sizes = [10, 1000, 100_000, 1_000_000];
const kinds = {
  ...turnoverKinds,
  firstMs: {
    name: 'the first `deliver` to it after the start of the broker',
    unit: 'ms',
    target: { timesSmallest: 2 },
  },
  readyMs: { name: 'start: broker process spawned to listening', unit: 'ms' },
} as const satisfies Record<string, CostKind>;

/** Ever more unsettled messages in one inbox. */
export async function measurePending(options: GrowthOptions): Promise<Ladder> {
  const { rounds, seconds, signal, tell } = options;
  await using home = await temporaryDirectory('pending');
  const dirOf = (size: number): string => join(home.path, `${size}`);
  for (const size of sizes) {
    tell(`growth: filling an inbox with ${size.toLocaleString('en')} messages`);
    await fill({ type: 'pending', dataDir: dirOf(size), inboxes: 1, each: size, bodyBytes: 300 }, signal);
  }
  const samples = new Samples<keyof typeof kinds>(sizes.length, kinds);
  for (let round = 1; round <= rounds; round++) {
    for (const [at, size] of sizes.entries()) {
      await using broker = await startGrowthBroker({ dataDir: dirOf(size) }, signal);
      samples.add('readyMs', at, broker.readyMs);
      await using warm = await openWarm(broker, signal);
      const [token] = await broker.issue(['in-0']);
      const inbox = { agent: 'in-0', token: token! };
      const { wallMs } = await broker.costOf(() =>
        warm.sender.deliver({ to: inbox.agent, kind: 'note', body: {} }),
      );
      samples.add('firstMs', at, wallMs);
      await turnOverFor(seconds, signal, async () => {
        const costs = await turnOver(broker, warm.sender, inbox);
        for (const name of Object.keys(costs) as (keyof Turnover)[]) samples.add(name, at, costs[name]);
      });
      tell(`growth: round ${round} of ${rounds}: ${size.toLocaleString('en')} pending`);
    }
  }
  return {
    name: 'pending',
    sizes: sizes.map((size) => ({ size, label: size.toLocaleString('en') })),
    costs: samples.costs(),
    notes: [],
  };
}
