import { connectBroker, requestAddress } from '@signalbox/client';
import { setupOf } from '../processes.ts';
import { serveLoad } from './load-orders.ts';
import type { LoadWorker } from './steady-load.ts';

/** Pairs of agents: one asks, the other answers at once. Each has a connection of its own. */
export interface PairsSetup {
  url: string;
  pairs: { asker: string; askerToken: string; answerer: string; answererToken: string; lanes: number }[];
}

const { url, pairs } = setupOf<PairsSetup>();
const body = { text: 'x'.repeat(300) };

const opened = await Promise.all(
  pairs.map(async ({ asker, askerToken, answerer, answererToken, lanes }) => {
    const server = await connectBroker({ url, token: answererToken, agent: answerer });
    await server.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
    const client = await connectBroker({ url, token: askerToken, agent: requestAddress(asker) });
    const worker: LoadWorker = {
      lanes,
      operation: async () => {
        const outcome = await client.request(answerer, 'ask', body, { timeoutMs: 60_000 });
        if (outcome.status !== 'completed') throw new Error(`a request ended as ${outcome.status}`);
        return 'done';
      },
    };
    return { worker, clients: [client, server] };
  }),
);
serveLoad(
  opened.map(({ worker }) => worker),
  () => Promise.all(opened.flatMap(({ clients }) => clients.map((client) => client.close()))),
);
