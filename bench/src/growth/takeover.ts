import type { GrowthBroker } from './growth-broker.ts';

const takeovers = 20;

/**
 * One connection after the other takes over an agent whose present connection holds a message. For each, the milliseconds
 * from its `subscribe` until it has that message.
 */
export async function measureTakeovers(broker: GrowthBroker): Promise<number[]> {
  await using opened = new AsyncDisposableStack();
  const [token] = await broker.issue(['moved']);
  const open = async () => {
    const client = opened.use(await broker.connect({ agent: 'moved', token: token! }));
    const start = performance.now();
    const { messages } = await client.subscribe();
    return { client, first: messages.next(), start };
  };
  const holder = await open();
  await holder.client.deliver({ to: 'moved', kind: 'note', body: { text: 'x'.repeat(280) } });
  await holder.first;
  const times: number[] = [];
  for (let i = 0; i < takeovers; i++) {
    const { first, start } = await open();
    await first;
    times.push(performance.now() - start);
  }
  return times;
}
