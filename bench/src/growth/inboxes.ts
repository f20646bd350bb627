import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { unlessAborted } from '../abortable.ts';
import { copyDataDirectory, temporaryDirectory } from './data-directory.ts';
import { fill } from './fill.ts';
import { type GrowthBroker, startGrowthBroker } from './growth-broker.ts';
import type { CostKind, GrowthOptions, Ladder } from './growth-report.ts';
import { Samples } from './samples.ts';
import { deliverMany, openWarm, turnoverMessages } from './turnover.ts';

const sizes = [1, 1000, 100_000];
const each = 2;
const bursts = 4;
const visits = 64;
const target = { timesSmallest: 2 };

const kinds = {
  deliverUs: {
    name: '`deliver` with receipt, 64 in flight, each to a random inbox, per message',
    unit: 'µs',
    target,
  },
  deliverCpuUs: { name: '`deliver`: CPU time of the broker, per message', unit: 'µs', target },
  headMs: { name: 'head fetch of a random inbox: `subscribe` to the first message', unit: 'ms', target },
  ackMs: { name: '`ack` of one message, 1 in flight', unit: 'ms', target },
  visitCpuUs: {
    name: 'CPU time of the broker for connecting, taking one message and leaving',
    unit: 'µs',
    target,
  },
} as const satisfies Record<string, CostKind>;

/** Ever more inboxes that hold a message or two. Each round begins with the same files. */
export async function measureInboxes({ rounds, signal, tell }: GrowthOptions): Promise<Ladder> {
  await using home = await temporaryDirectory('inboxes');
  const filledDir = (size: number): string => join(home.path, `${size}`);
  const dataDir = join(home.path, 'used');
  for (const size of sizes) {
    tell(`growth: filling ${size.toLocaleString('en')} inboxes`);
    await fill({ type: 'pending', dataDir: filledDir(size), inboxes: size, each, bodyBytes: 300 }, signal);
  }
  const samples = new Samples<keyof typeof kinds>(sizes.length, kinds);
  for (let round = 1; round <= rounds; round++) {
    for (const [at, size] of sizes.entries()) {
      await copyDataDirectory(filledDir(size), dataDir);
      await using broker = await startGrowthBroker({ dataDir }, signal);
      const randomInbox = (): string => `in-${randomInt(size)}`;
      await using warm = await openWarm(broker, signal);
      for (let burst = 0; burst < bursts; burst++) {
        const { wallMs, cpuMs } = await unlessAborted(signal, () =>
          broker.costOf(() => deliverMany(warm.sender, randomInbox)),
        );
        samples.add('deliverUs', at, (wallMs * 1000) / turnoverMessages);
        samples.add('deliverCpuUs', at, (cpuMs * 1000) / turnoverMessages);
      }
      const visited = Array.from({ length: visits }, randomInbox);
      const tokens = await broker.issue(visited);
      const { cpuMs } = await unlessAborted(signal, () =>
        broker.costOf(async () => {
          for (const [i, agent] of visited.entries()) {
            const { headMs, ackMs } = await visit(broker, { agent, token: tokens[i]! });
            samples.add('headMs', at, headMs);
            samples.add('ackMs', at, ackMs);
          }
        }),
      );
      samples.add('visitCpuUs', at, (cpuMs * 1000) / visits);
      tell(`growth: round ${round} of ${rounds}: ${size.toLocaleString('en')} inboxes`);
    }
  }
  return {
    name: 'inboxes',
    sizes: sizes.map((size) => ({ size, label: size.toLocaleString('en') })),
    costs: samples.costs(),
    notes: [],
  };
}

async function visit(
  broker: GrowthBroker,
  inbox: { agent: string; token: string },
): Promise<{ headMs: number; ackMs: number }> {
  await using client = await broker.connect(inbox);
  const start = performance.now();
  const { messages } = await client.subscribe({ window: 1 });
  const { value } = await messages.next();
  const taken = performance.now();
  const { rejected } = await client.ack([value!.seq!]);
  const acked = performance.now();
  if (rejected.length > 0) throw new Error('an ack was rejected');
  return { headMs: taken - start, ackMs: acked - taken };
}
