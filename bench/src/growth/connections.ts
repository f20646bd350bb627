import type { BrokerClient } from '@signalbox/client';
import { unlessAborted } from '../abortable.ts';
import { measure } from '../measure.ts';
import { median } from '../statistics.ts';
import { temporaryDirectory } from './data-directory.ts';
import { type GrowthBroker, startGrowthBroker } from './growth-broker.ts';
import type { CostKind, GrowthOptions, Ladder } from './growth-report.ts';
import { mostConnections, startIdleWorkers } from './idle-workers.ts';
import { Samples } from './samples.ts';
import { measureTakeovers } from './takeover.ts';

const wantedSizes = [1, 100, 1000, 4000];
const inFlight = 64;
/** The smallest number of connections at which memory is measured; below it, the memory of each one is noise. */
const fewestForMemory = 100;
const earlyWorkers = 20;

const kindsFor = (sizes: readonly number[]) =>
  ({
    rssMb: {
      name: 'memory of the broker (RSS)',
      unit: 'MB',
      target: { atMost: sizes.map((size) => (size === 4000 ? 250 : null)) },
    },
    rssPerWorkerKb: {
      name: 'memory added per idle worker (RSS)',
      unit: 'KB',
      target: { atMost: sizes.map((size) => (size < fewestForMemory ? null : 25)) },
    },
    livePerWorkerKb: { name: 'memory added per idle worker, what heap and buffers hold of it', unit: 'KB' },
    connectMs: { name: 'until all are connected and subscribed', unit: 'ms' },
    connectEachMs: { name: 'connecting and subscribing, per worker', unit: 'ms' },
    requestMs: { name: 'request/reply meanwhile, 1 in flight, p50', unit: 'ms' },
    requestUs: { name: 'request/reply meanwhile, 64 in flight, per request', unit: 'µs' },
    requestCpuUs: { name: 'request/reply: CPU time of the broker, per request', unit: 'µs' },
    takeoverMs: { name: 'takeover, median', unit: 'ms' },
    takeoverMaxMs: { name: 'takeover, longest of each round', unit: 'ms' },
  }) as const satisfies Record<string, CostKind>;

type CostSamples = Samples<keyof ReturnType<typeof kindsFor>>;

/** Measures growing numbers of idle workers, with a new broker for each number. */
export async function measureConnections(options: GrowthOptions): Promise<Ladder> {
  const { rounds, seconds, signal, tell } = options;
  const most = await mostConnections();
  const sizes = wantedSizes.filter((size) => size <= most);
  const samples: CostSamples = new Samples(sizes.length, kindsFor(sizes));
  for (let round = 1; round <= rounds; round++) {
    for (const [at, size] of sizes.entries()) {
      await using home = await temporaryDirectory('connections');
      await using broker = await startGrowthBroker({ dataDir: home.path }, signal);
      await unlessAborted(signal, () => measureSize(broker, { at, size, seconds }, samples));
      tell(`growth: round ${round} of ${rounds}: ${size.toLocaleString('en')} workers`);
    }
  }
  const leftOut = wantedSizes.filter((size) => size > most);
  return {
    name: 'connections',
    sizes: sizes.map((size) => ({ size, label: size.toLocaleString('en') })),
    costs: samples.costs(),
    notes: leftOut.map((size) => {
      return `Not measured: ${size.toLocaleString('en')} workers; a process may have ${most} connections open here.`;
    }),
  };
}

async function measureSize(
  broker: GrowthBroker,
  { at, size, seconds }: { at: number; size: number; seconds: number },
  samples: CostSamples,
): Promise<void> {
  const agents = Array.from({ length: size }, (_, n) => `worker-${n}`);
  const tokens = await broker.issue(agents);
  await warmUp(broker);
  const before = await broker.memory();
  const workers = agents.map((agent, n) => ({ agent, token: tokens[n]! }));
  await using fleet = await startIdleWorkers(broker.url, { workers });
  const after = await broker.memory();
  samples.add('rssMb', at, after.rssBytes / 1e6);
  if (size >= fewestForMemory) {
    samples.add('rssPerWorkerKb', at, (after.rssBytes - before.rssBytes) / size / 1000);
    samples.add('livePerWorkerKb', at, (after.liveBytes - before.liveBytes) / size / 1000);
  }
  samples.add('connectMs', at, fleet.connectedMs);
  samples.add('connectEachMs', at, fleet.connectedMs / size);
  await measureRequests(broker, { at, seconds }, samples);
  const takeovers = await measureTakeovers(broker);
  samples.add('takeoverMs', at, median(takeovers));
  samples.add('takeoverMaxMs', at, Math.max(...takeovers));
}

/** Loads and compiles the code that the first connections need, so that it does not count as the cost of a worker. */
async function warmUp(broker: GrowthBroker): Promise<void> {
  const agents = Array.from({ length: earlyWorkers }, (_, n) => `early-${n}`);
  for (const [n, token] of (await broker.issue(agents)).entries()) {
    await using client = await broker.connect({ agent: agents[n]!, token });
    await client.subscribe();
  }
}

async function measureRequests(
  broker: GrowthBroker,
  { at, seconds }: { at: number; seconds: number },
  samples: CostSamples,
): Promise<void> {
  const [clientsToken, serversToken] = await broker.issue(['client', 'server']);
  await using server = await broker.connect({ agent: 'server', token: serversToken! });
  await server.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }), { concurrency: 1000 });
  await using client = await broker.connect({ agent: 'client', token: clientsToken! });
  const request = (): Promise<void> => ask(client);
  await measure(request, { lanes: inFlight, seconds: Math.min(seconds, 0.5) });
  samples.add('requestMs', at, (await measure(request, { lanes: 1, seconds })).p50Ms);
  let requests = 0;
  const counted = async (): Promise<void> => {
    await request();
    requests++;
  };
  const { wallMs, cpuMs } = await broker.costOf(() => measure(counted, { lanes: inFlight, seconds }));
  samples.add('requestUs', at, (wallMs * 1000) / requests);
  samples.add('requestCpuUs', at, (cpuMs * 1000) / requests);
}

async function ask(client: BrokerClient): Promise<void> {
  const outcome = await client.request('server', 'ask', { text: 'x'.repeat(280) }, { timeoutMs: 60_000 });
  if (outcome.status !== 'completed') throw new Error(`a request ended as ${outcome.status}`);
}
