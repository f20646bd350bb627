import { type BrokerClient, connectBroker, requestAddress, type Subscription } from '@signalbox/client';
import type { Body, PeerSides } from './peer.ts';

/** More bytes ahead than the broker lets wait on one connection (24 MiB) would have it closed as a slow consumer's. */
const subscription = { window: 1000, windowBytes: 16 * 2 ** 20 };

export const signalboxSides: PeerSides = {
  prepare: async () => {},

  async openClient({ url, client: token }) {
    const client = await connectBroker({ url, token: token!, agent: requestAddress('client') });
    return {
      enqueue: (to, body) => client.deliver({ to, kind: 'note', body }),
      request: async (body) => {
        const outcome = await client.request('server', 'ask', body, { timeoutMs: 60_000 });
        if (outcome.status !== 'completed') throw new Error(`a request ended as ${outcome.status}`);
        return outcome.reply.json as Body;
      },
      [Symbol.asyncDispose]: () => client.close(),
    };
  },

  async openConsumer({ url: clientUrl, consumerUrl: url = clientUrl, server, sink }, onAcked) {
    const responder = await connectBroker({ url, token: server!, agent: 'server' });
    await responder.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }), {
      concurrency: 1000,
      ...subscription,
    });
    const taker = await connectBroker({ url, token: sink!, agent: 'sink' });
    void takeAll(taker, await taker.subscribe(subscription), onAcked);
    return {
      [Symbol.asyncDispose]: async () => {
        await taker.close();
        await responder.close();
      },
    };
  },

  async tidy({ url, pile }) {
    await using client = await connectBroker({ url, token: pile!, agent: 'pile' });
    const waiting = (await client.peek({ limit: 1 })).length;
    if (waiting === 0) return;
    const messages = await client.subscribe(subscription);
    const { pending } = messages.subscribed;
    const emptied = Promise.withResolvers<void>();
    let left = pending;
    void takeAll(client, messages, () => {
      if (--left === 0) emptied.resolve();
    });
    await emptied.promise;
  },
};

/** Acks what came in one turn of the event loop with one frame, as consumers of the other peers ack what they read at once. */
async function takeAll(
  client: BrokerClient,
  { messages }: Subscription,
  onAcked: (n: number) => void,
): Promise<void> {
  let taken: { seq: number; n: number }[] = [];
  const ack = async (): Promise<void> => {
    const batch = taken;
    taken = [];
    const { rejected } = await client.ack(batch.map(({ seq }) => seq));
    if (rejected.length > 0) throw new Error(`${rejected.length} acks were rejected`);
    for (const { n } of batch) onAcked(n);
  };
  for await (const { seq, body } of messages) {
    const { n } = JSON.parse(body!) as Body;
    if (taken.push({ seq: seq!, n }) === 1) setImmediate(() => void ack());
  }
}
