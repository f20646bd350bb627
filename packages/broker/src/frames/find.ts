import type { FindFrame, FoundState, Sender } from '@signalbox/protocol';
import type { FoundMessage, InboxStore } from '@signalbox/store';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** The most senders of requests with one id that are looked at. */
const maxSenders = 16;

/**
 * Handles `find`: tells which requests in the connection's inbox are settled, and to which of them certain replies of its agent
 * are stored. The answer waits until that is durable.
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
  { agent, id, reply }: FindFrame['requests'][number],
  { address, agent: asker }: Sender,
  store: Pick<InboxStore, 'find' | 'findOfAnySender'>,
): Promise<FoundState> {
  const found = await requestsOf({ agent, id }, address, store);
  if (reply !== undefined) {
    for (const { senderAddress } of found)
      if (await store.find(senderAddress, asker, reply)) return 'answered';
  }
  const [request, another] = found;
  if (!request) return 'unknown';
  if (another) return 'ambiguous';
  return request.outcome === undefined ? 'open' : 'settled';
}

async function requestsOf(
  { agent, id }: Pick<FindFrame['requests'][number], 'agent' | 'id'>,
  inbox: string,
  store: Pick<InboxStore, 'find' | 'findOfAnySender'>,
): Promise<FoundMessage[]> {
  if (agent === undefined) return await store.findOfAnySender(inbox, id, maxSenders);
  const found = await store.find(inbox, agent, id);
  return found ? [found] : [];
}
