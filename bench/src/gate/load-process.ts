import { openRawStdioSession, type StdioServer } from '../calls/raw-stdio-client.ts';
import type { Facts } from '../peers/peer.ts';
import { signalboxSides } from '../peers/signalbox-sides.ts';
import { serveParent, setupOf } from '../processes.ts';
import { type Operation, operationOf, workloads } from '../workloads.ts';
import type { GateOperation } from './gate-operations.ts';
import { repeat } from './repeat.ts';

/** Addresses and tokens of one stack, and how its command serves MCP to a client that starts it. */
export interface LoadSetup {
  facts: Facts;
  face: StdioServer;
}

/** An operation to carry out so often, or `tidy`: empty the inbox that `enqueue` fills. */
export type LoadOrder = { operation: GateOperation; count: number } | 'tidy';

/** Makes load on one stack, with the client library of this checkout and with an MCP client that does hardly anything itself. */
const { facts, face } = setupOf<LoadSetup>();
const waiting = new Map<number, () => void>();
const consumer = await signalboxSides.openConsumer(facts, (n) => {
  waiting.get(n)?.();
  waiting.delete(n);
});
const client = await signalboxSides.openClient(facts, 'c0');
const session = await openRawStdioSession(face);

let numbered = 0;
const nextNumber = () => numbered++;
const acked = (n: number) => new Promise<void>((resolve) => waiting.set(n, resolve));
function messages(operation: Operation): () => Promise<void> {
  const workload = workloads.find(({ name }) => name === `${operation}/64/300B`)!;
  const carryOut = operationOf(workload, [client], { nextNumber, acked });
  return () => carryOut(0);
}

// A cached result would answer for a message that was sent before; none is.
const work: Record<GateOperation, () => Promise<void>> = {
  enqueue: messages('enqueue'),
  consume: messages('consume'),
  request: messages('request'),
  'safe-call': () => session.call('mcp_safe__echo', `message ${nextNumber()}.`),
  'unsafe-call': () => session.call('mcp_unsafe__echo', `message ${nextNumber()}.`),
};

serveParent({
  obey: async (order) => {
    const asked = order as LoadOrder;
    if (asked === 'tidy') await signalboxSides.tidy(facts);
    else await repeat(work[asked.operation], asked.count);
  },
  stop: async () => {
    await Promise.all([session, client, consumer].map((one) => one[Symbol.asyncDispose]()));
  },
});
