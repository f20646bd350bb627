import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBroker, requestAddress } from '@signalbox/client';
import { startProcess } from './processes.ts';
import type { Series } from './series.ts';

/** About 300 bytes of JSON, the size of a short instruction. */
const body = { text: 'x'.repeat(280) };

/** Durable request/reply and enqueue: client, broker and server in three processes. */
export async function messageSeries(
  durability: 'full' | 'process',
): Promise<AsyncDisposable & { series: Series[] }> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const broker = opened.use(await startProcess('./broker-process.ts', { dataDir, durability }));
  const { url, client: token, server } = broker.facts as { url: string; client: string; server: string };
  opened.use(await startProcess('./server-process.ts', { url, token: server }));
  const client = opened.use(await connectBroker({ url, token, agent: requestAddress('client') }));
  const reader = opened.use(await connectBroker({ url, token: server, agent: 'server#sink' }));
  const sink = await reader.subscribe({ window: 1000 });
  void (async () => {
    for await (const message of sink.messages) reader.ack([message.seq!]).catch(() => {});
  })();
  const receipt = durability === 'full' ? 'fsynced' : 'written';
  const request = async (): Promise<void> => {
    const outcome = await client.request('server', 'ask', body, { timeoutMs: 30_000 });
    if (outcome.status !== 'completed') throw new Error(`a request ended as ${outcome.status}`);
  };
  const enqueue = (): Promise<unknown> => client.deliver({ to: 'server#sink', kind: 'note', body });
  const series: Series[] = [
    { name: `request/reply, ${receipt}, 1 in flight`, inFlight: 1, operation: request },
    { name: `request/reply, ${receipt}, 64 in flight`, inFlight: 64, operation: request },
    { name: `enqueue with receipt, ${receipt}, 64 in flight`, inFlight: 64, operation: enqueue },
  ];
  const resources = opened.move();
  return { series, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
