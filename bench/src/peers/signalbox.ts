import { commitOf, harnessOf } from '../before.ts';
import { startProcess } from '../processes.ts';
import type { Facts, Peer } from './peer.ts';

const thisHarness = new URL('../', import.meta.url);

/** The names of the peers that are our own broker. */
export const ownNames: readonly string[] = ['full', 'process', 'socket'];

/** Our own broker with `full` durability, whose clients reach it over its Unix socket. */
export function signalboxSocket(): Peer {
  const peer = signalbox('full');
  return {
    ...peer,
    name: 'socket',
    title: 'Signalbox `full`, Unix socket',
    how: 'as `full`, over the Unix socket in place of TCP',
    start: async (dataDir) => {
      const { facts, ...servers } = await peer.start(dataDir);
      return { ...servers, facts: { ...facts, url: facts.socket ?? facts.url } };
    },
  };
}

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
