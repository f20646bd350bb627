import { type FindFrame, type FoundState, replyIdOf, type Sender } from '@signalbox/protocol';
import type { InboxStore } from '@signalbox/store';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/**
 * Handles `find`: tells which requests in the connection's inbox are settled, and which of them its agent has answered. The answer waits
 * until that is durable.
 */
export async function find(
  { request_id, requests }: FindFrame,
  { sender }: Caller,
  { store, delivery }: Pick<FrameDeps, 'store' | 'delivery'>,
): Promise<Outcome> {
  // A request that was settled long ago is looked for on the disk.
  if (sender.role !== 'orchestrator' && requests.length > 1) {
    const message = 'only orchestrators may ask about more than one request at a time';
    return { refusal: { code: 'forbidden', message, field: 'requests' } };
  }
  const states: FoundState[] = [];
  for (const request of requests) states.push(await stateOf(request, sender, store));
  const answer = { type: 'found', request_id, states } as const;
  return { later: delivery.flushed().then(() => ({ answer })) };
}

async function stateOf(
  { agent, id }: FindFrame['requests'][number],
  { address, agent: asker, role }: Sender,
  store: Pick<InboxStore, 'find'>,
): Promise<FoundState> {
  const found = await store.find(address, agent, id);
  if (!found) return 'unknown';
  if (found.outcome === undefined) return 'open';
  // Orchestrators ask about many requests, and have a journal of their answers.
  if (role === 'orchestrator') return 'settled';
  return (await store.find(found.senderAddress, asker, replyIdOf(id))) ? 'answered' : 'settled';
}
