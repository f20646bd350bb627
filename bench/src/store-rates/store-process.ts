import { join } from 'node:path';
import type { PostgresStoresOptions } from '@signalbox/postgres';
import { type InboxStore, openSqliteInboxStore } from '@signalbox/store';
import { measure } from '../measure.ts';
import type { PeerClient } from '../peers/peer.ts';
import { keepingQueue } from '../peers/postgres-keeping-queries.ts';
import { bareQueue } from '../peers/postgres-queries.ts';
import { tableQueueSides } from '../peers/postgres-sides.ts';
import { serveParent, setupOf } from '../processes.ts';
import { operationOf, type Workload } from '../workloads.ts';
import type { ContestantSetup } from './contestants.ts';
import { storeClient } from './store-client.ts';

/** The process of one contestant: store and load are together in it, so that nothing else is measured. */
const { kind, dir, url, storePackage, schema } = setupOf<ContestantSetup>();
const opened = new AsyncDisposableStack();
const caps = { store: { bytes: Number.POSITIVE_INFINITY, reservePercent: 0 } };

async function openStore(): Promise<InboxStore> {
  if (kind === 'sqlite')
    return opened.use(await openSqliteInboxStore({ file: join(dir, 'messages.db'), durability: 'full' }));
  const { openPostgresStores } = (await import(storePackage)) as {
    openPostgresStores: (
      options: PostgresStoresOptions,
    ) => Promise<AsyncDisposable & { inboxes: InboxStore; cluster: { take(inbox: string): Promise<void> } }>;
  };
  const stores = opened.use(await openPostgresStores({ url, schema, broker: 'one', caps }));
  for (const inbox of ['client', 'server', 'sink']) await stores.cluster.take(inbox);
  return stores.inboxes;
}

async function openClient(): Promise<{ client: PeerClient; tidy: () => Promise<void> }> {
  if (kind === 'sqlite' || kind === 'store') {
    const client = opened.use(storeClient(await openStore()));
    return { client, tidy: () => client.idle() };
  }
  const sides = tableQueueSides(kind === 'keeping' ? keepingQueue : bareQueue);
  await sides.prepare({ url });
  opened.use(await sides.openConsumer({ url }, () => {}));
  const client = opened.use(await sides.openClient({ url }, 'c0'));
  return { client, tidy: () => sides.tidy({ url }) };
}

const { client, tidy } = await openClient();
let numbered = 0;
serveParent({
  obey: async (order) => {
    const { workload, seconds } = order as { workload: Workload; seconds: number };
    const ports = { nextNumber: () => numbered++, acked: async () => {} };
    const operation = operationOf(workload, [client], ports);
    let operations = 0;
    const before = process.cpuUsage();
    const measured = await measure(
      async (lane) => {
        await operation(lane);
        operations++;
      },
      { lanes: workload.inFlight, seconds },
    );
    const { user, system } = process.cpuUsage(before);
    await tidy();
    return { ...measured, operations, cpuMicros: user + system };
  },
  stop: () => opened.disposeAsync(),
});
