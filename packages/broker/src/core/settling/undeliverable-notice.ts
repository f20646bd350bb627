import { replyIdOf, type Undeliverable } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';
import { sentByBroker } from '../broker-sender.ts';
import type { MessageHeader } from '../message-header.ts';

/** The notice outlives its request by as long as that was meant to live, and never by less. */
const shortestLifeMs = 5 * 60_000;

/** The notice that the sender of a request gets in place of the reply. Its id is always the same, so that it is stored once. */
export function undeliverableNotice(request: MessageHeader, why: Undeliverable, now: number): NewMessage {
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
