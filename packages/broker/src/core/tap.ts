import type { Sender } from '@signalbox/protocol';
import type { NewMessage, Outcome } from '@signalbox/store';

/** What is known of a message where something happens to it; never its body. */
export interface TappedMessage {
  inbox: string;
  id: string;
  from: Sender;
  kind: string;
  correlationId?: string | undefined;
  createdAt?: number;
  /** Bytes of its body. */
  size?: number;
}

/** What happened to a stored message. `attempt` counts the tries, this one included. */
export type TappedEvent =
  | { what: 'stored' }
  | { what: 'delivered'; attempt: number }
  | { what: 'settled'; outcome: Outcome; reason?: string | undefined };

/** Somebody may look on. Whoever tells asks `isOn` first, which is all that it costs while nobody does. */
export interface Tap {
  readonly isOn: boolean;
  saw(event: TappedEvent, seq: number, message: TappedMessage): void;
}

/** A message that was just stored. */
export function tapped(message: NewMessage): TappedMessage {
  const { inbox, id, kind, correlationId, createdAt, body } = message;
  const from = { agent: message.sender, address: message.senderAddress, role: message.senderRole };
  const size = body === undefined ? 0 : Buffer.byteLength(body);
  return { inbox, id, from, kind, correlationId, createdAt, size };
}
