import { startProcess } from '../processes.ts';
import type { Facts, Peer } from './peer.ts';

/** Our own broker in a process of its own. */
export function signalbox(durability: 'full' | 'process'): Peer {
  return {
    name: durability,
    title: `Signalbox \`${durability}\``,
    receiptMeans: durability === 'full' ? 'fsynced' : 'written',
    how: 'the client library as the README shows it; acks of one turn of the event loop in one call; limits on rates and queues lifted',
    start: async (dataDir) => {
      const broker = await startProcess(new URL('./signalbox-broker-process.ts', import.meta.url), {
        dataDir,
        durability,
      });
      return {
        version: 'this repository',
        facts: broker.facts as Facts,
        [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
      };
    },
    sides: async () => (await import('./signalbox-sides.ts')).signalboxSides,
  };
}
