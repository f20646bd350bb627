import type { FindFrame } from '@signalbox/protocol';
import type { FoundMessage } from '@signalbox/store';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `find`: tells an orchestrator which requests in its inbox are settled. The answer waits until that is durable. */
export async function find(
  { request_id, requests }: FindFrame,
  { sender }: Caller,
  { store, delivery }: Pick<FrameDeps, 'store' | 'delivery'>,
): Promise<Outcome> {
  if (sender.role !== 'orchestrator') {
    const message = `'find' is for orchestrators, and your role is '${sender.role}'`;
    return { refusal: { code: 'forbidden', message, field: 'type' } };
  }
  const states: string[] = [];
  for (const { agent, id } of requests) states.push(stateOf(await store.find(sender.address, agent, id)));
  const answer = { type: 'found', request_id, states } as const;
  return { later: delivery.flushed().then(() => ({ answer })) };
}

function stateOf(found: FoundMessage | undefined): 'open' | 'settled' | 'unknown' {
  if (!found) return 'unknown';
  return found.outcome === undefined ? 'open' : 'settled';
}
