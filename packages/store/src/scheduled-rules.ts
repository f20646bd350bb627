import { type LoggedMessage, sharedFieldsOf, storedMetadataOf } from './logged-message.ts';
import type { NewMessage } from './message.ts';
import type { ScheduledMessage } from './scheduled-messages.ts';

/** The place of a scheduled message in the order of due times. */
export interface ScheduledPlace {
  due: number;
  number: number;
}

/** A message that was removed from the scheduled messages. */
export interface Taken {
  message: LoggedMessage;
  sentAt: number;
}

/** Converts a message to the form in which it is stored until it is due. */
export function scheduledLogged(
  seq: number,
  message: NewMessage,
  size: number,
  isCounted: boolean,
): LoggedMessage {
  const { id, correlationId, traceparent, group, thread, body } = message;
  return {
    seq,
    // A scheduled message stays when the token of its sender is revoked.
    shared: { ...sharedFieldsOf(message, undefined, isCounted), tokenId: undefined },
    id,
    correlationId,
    traceparent,
    group,
    thread,
    size,
    body,
    attempts: 0,
    answered: false,
    takers: undefined,
    ending: undefined,
  };
}

/** Returns the message that releases a scheduled one. */
export function releaseOf({
  seq: number,
  shared,
  id,
  correlationId,
  traceparent,
  group,
  thread,
  size,
  body,
}: LoggedMessage): NewMessage {
  const { inbox, sender, senderAddress, senderRole, kind, createdAt, expiresAt, openUntil, isCounted } =
    shared;
  return {
    inbox,
    id,
    sender,
    senderAddress,
    senderRole,
    kind,
    correlationId,
    traceparent,
    createdAt,
    expiresAt,
    openUntil,
    group,
    thread,
    body,
    release: { number, size, isCounted },
  };
}

/** Converts a scheduled message to the form in which a list shows it. */
export function scheduledMessageOf(message: LoggedMessage, sentAt: number): ScheduledMessage {
  const { seq: number, attempts: _, damaged: __, ...rest } = storedMetadataOf(message);
  return { ...rest, number, sentAt };
}

/** Returns the cursor of the page after a place. */
export function cursorOf({ due, number }: ScheduledPlace): string {
  return `${due}.${number}`;
}

/** Returns the place after which a page begins. */
export function placeOf(cursor: string | undefined): ScheduledPlace {
  const found = /^(\d+)\.(\d+)$/.exec(cursor ?? '');
  return found ? { due: Number(found[1]), number: Number(found[2]) } : { due: 0, number: 0 };
}
