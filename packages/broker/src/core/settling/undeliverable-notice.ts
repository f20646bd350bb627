import { replyIdOf, type Undeliverable } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';
import { sentByBroker } from '../broker-sender.ts';
import type { MessageHeader } from '../message-header.ts';

/** The shortest lifetime of a notice. A longer lifetime is that of its request, counted from the notice on. */
const minLifetimeMs = 5 * 60_000;

/**
 * Makes the notice that the sender of a request gets in place of the reply. It has the id of the reply, so that only one of them is
 * stored.
 */
export function undeliverableNotice(
  request: MessageHeader & { seq: number },
  why: Undeliverable,
  now: number,
): NewMessage {
  // Each copy of a request to all members of a group has its own reply, and its own notice.
  const id = request.copyOf === undefined ? request.id : `copy-${request.seq}`;
  return {
    inbox: request.from.address,
    id: replyIdOf(id),
    ...sentByBroker,
    kind: 'undeliverable',
    correlationId: request.id,
    thread: request.thread,
    createdAt: now,
    expiresAt: now + Math.max(minLifetimeMs, request.expiresAt - request.createdAt),
    body: JSON.stringify(why),
  };
}
