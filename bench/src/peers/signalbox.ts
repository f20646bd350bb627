import { commitOf, harnessOf } from '../before.ts';
import { startProcess } from '../processes.ts';
import type { Facts, Peer } from './peer.ts';

const thisHarness = new URL('../', import.meta.url);

/** Our own broker in a process of its own; the one of another checkout, with its clients, if `before` is its root. */
export function signalbox(durability: 'full' | 'process', before?: URL): Peer {
  const harness = before ? harnessOf(before) : thisHarness;
  return {
    name: before ? `${durability}-before` : durability,
    title: `Signalbox \`${durability}\`${before ? ', before' : ''}`,
    receiptMeans: durability === 'full' ? 'fsynced' : 'written',
    how: 'the client library as the README shows it; acks of one turn of the event loop in one call; limits on rates and queues lifted',
    start: async (dataDir) => {
      const broker = await startProcess(new URL('peers/signalbox-broker-process.ts', harness), {
        dataDir,
        durability,
      });
      return {
        version: before ? `commit ${await commitOf(before)}` : 'this repository',
        facts: broker.facts as Facts,
        [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
      };
    },
    sides: async () => (await import('./signalbox-sides.ts')).signalboxSides,
    ...(before && { inOtherCheckout: { harness, name: durability } }),
  };
}
