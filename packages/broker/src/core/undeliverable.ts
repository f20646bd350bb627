import { replyIdOf, type Undeliverable } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';
import { sentByBroker } from './broker-sender.ts';
import type { TappedMessage } from './tap.ts';

/** A message that ends without having been dealt with. */
export interface MessageHeader extends TappedMessage {
  createdAt: number;
  expiresAt: number;
}

const requestKinds = new Set(['ask', 'task', 'mcp_request']);
/** The notice outlives its request by as long as that was meant to live, and never by less. */
const shortestLifeMs = 5 * 60_000;

/** True for the kinds whose senders wait for an answer. */
export function isRequest(kind: string): boolean {
  return requestKinds.has(kind);
}

/** What the sender of a request gets in place of the reply; always under the same id, so that it is stored once. */
export function undeliverable(request: MessageHeader, why: Undeliverable, now: number): NewMessage {
  return {
    inbox: request.from.address,
    id: replyIdOf(request.id),
    ...sentByBroker,
    kind: 'undeliverable',
    correlationId: request.id,
    createdAt: now,
    expiresAt: now + Math.max(shortestLifeMs, request.expiresAt - request.createdAt),
    body: JSON.stringify(why),
  };
}
