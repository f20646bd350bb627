import { type FindFrame, type FoundState, type Sender, servesCalls } from '@signalbox/protocol';
import type { FoundMessage, InboxStore } from '@signalbox/store';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** The most senders of requests with one id that are considered. */
const maxSenders = 16;

/**
 * Handles `find`: tells which requests in the connection's inbox are settled, and whether certain replies of its agent to these, or to
 * requests of its groups, are stored. The answer waits until that is durable.
 */
export async function find(
  { request_id, requests }: FindFrame,
  { sender }: Caller,
  { store, delivery, groups }: Pick<FrameDeps, 'store' | 'delivery' | 'groups'>,
): Promise<Outcome> {
  // A request that was settled long ago is searched for on the disk, and not everybody may see who is connected.
  const asksAboutSenders = requests.some((request) => request.with_sender);
  const isMore = requests.length > 1 || asksAboutSenders;
  const mayAsk = asksAboutSenders ? sender.role === 'orchestrator' : servesCalls(sender.role);
  if (isMore && !mayAsk) {
    const message = 'only orchestrators may ask about more than one request at a time, or about senders';
    return { refusal: { code: 'forbidden', message, field: 'requests' } };
  }
  const states: FoundState[] = [];
  const inboxes = [sender.address, ...groups.of(sender.role)];
  for (const request of requests) {
    const isStored = request.reply !== undefined && (await isReplyStored(request, sender, inboxes, store));
    states.push(isStored ? 'answered' : await stateOf(request, sender, { store, delivery }));
  }
  const answer = { type: 'found', request_id, states } as const;
  return { later: delivery.flushed().then(() => ({ answer })) };
}

/** Tells whether a reply of this agent to a request that was in one of these inboxes is stored. */
async function isReplyStored(
  { agent, id, reply = '' }: FindFrame['requests'][number],
  { agent: replier }: Sender,
  inboxes: readonly string[],
  store: Pick<InboxStore, 'find' | 'findOfAnySender'>,
): Promise<boolean> {
  for (const inbox of inboxes) {
    for (const { senderAddress } of await requestsOf({ agent, id }, inbox, store))
      if (await store.find(senderAddress, replier, reply)) return true;
  }
  return false;
}

async function stateOf(
  { agent, id, with_sender: withSender }: FindFrame['requests'][number],
  { address }: Sender,
  { store, delivery }: Pick<FrameDeps, 'store' | 'delivery'>,
): Promise<FoundState> {
  const [request, another] = await requestsOf({ agent, id }, address, store);
  if (!request) return 'unknown';
  if (another) return 'ambiguous';
  if (request.outcome !== undefined) return 'settled';
  return withSender && !(await isConnected(request.senderAddress, delivery)) ? 'orphaned' : 'open';
}

/** Tells whether a consumer holds an inbox, here or at another broker. */
async function isConnected(address: string, delivery: FrameDeps['delivery']): Promise<boolean> {
  return delivery.isLeased(address) || (await delivery.leasedElsewhere([address])).has(address);
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
