import { listenForAcks } from './ack-notices.ts';
import { measure } from './measure.ts';
import { peerNamed } from './peers/all-peers.ts';
import type { Facts, PeerClient } from './peers/peer.ts';
import { serveParent, setupOf } from './processes.ts';
import { operationOf, type Workload } from './workloads.ts';

/** Makes load on one peer, workload by workload. */
const { peer, facts, socket } = setupOf<{ peer: string; facts: Facts; socket: string }>();
const sides = await peerNamed(peer).sides();
const notices = await listenForAcks(socket);
const clients: PeerClient[] = [];
let opened = 0;
let numbered = 0;

const keep = async (count: number): Promise<void> => {
  while (clients.length < count) clients.push(await sides.openClient(facts, `c${opened++}`));
  await Promise.all(clients.splice(count).map((client) => client[Symbol.asyncDispose]()));
};

const run = async ({ workload, seconds }: { workload: Workload; seconds: number }) => {
  await keep(workload.clients);
  const operation = operationOf(workload, clients, {
    nextNumber: () => numbered++,
    acked: notices.acked,
  });
  const measured = await measure(operation, { lanes: workload.clients * workload.inFlight, seconds });
  // Idle connections would cost the peers that run next; some of these have a process each.
  await keep(1);
  await sides.tidy(facts);
  return measured;
};

await sides.prepare(facts);
await keep(1);
serveParent({
  obey: (order) => run(order as Parameters<typeof run>[0]),
  stop: async () => {
    await keep(0);
    await notices[Symbol.asyncDispose]();
  },
});
