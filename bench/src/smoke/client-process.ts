import type { Facts } from '../peers/peer.ts';
import { signalboxSides } from '../peers/signalbox-sides.ts';
import { serveParent, setupOf } from '../processes.ts';
import { operationOf, workloads } from '../workloads.ts';
import { repeat } from './repeat.ts';

/** Makes requests or enqueues through a real broker. */
const client = await signalboxSides.openClient(setupOf<Facts>(), 'c0');
let numbered = 0;
const ports = { nextNumber: () => numbered++, acked: async () => {} };
serveParent({
  obey: async (order) => {
    const { name, count } = order as { name: string; count: number };
    const operation = operationOf(workloads.find((one) => one.name === name)!, [client], ports);
    return repeat(() => operation(0), count);
  },
  stop: async () => client[Symbol.asyncDispose](),
});
