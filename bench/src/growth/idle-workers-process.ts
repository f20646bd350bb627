import { connectBroker } from '@signalbox/client';
import { serveParent, setupOf } from '../processes.ts';
import type { IdleWorkersOrder } from './idle-workers.ts';

/** The number of connections that are made at a time. The broker's limit on unauthenticated connections is 256. */
const lanes = 64;

const { url } = setupOf<{ url: string }>();

/** Connects the workers and subscribes each; resolves with the milliseconds that it took. The connections last until this process ends. */
const connectAll = async ({ workers }: IdleWorkersOrder): Promise<number> => {
  const began = performance.now();
  const left = workers.values();
  const lane = async (): Promise<void> => {
    for (const { agent, token } of left) await (await connectBroker({ url, agent, token })).subscribe();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return performance.now() - began;
};

serveParent({ obey: (order) => connectAll(order as IdleWorkersOrder), stop: async () => {} });
