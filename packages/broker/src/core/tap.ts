import type { Outcome } from '@signalbox/store';
import type { MessageHeader } from './message-header.ts';

/** A message as a tap is told of it. Only these fields are known of one that its sender cancels before it is pushed. */
export type TappedMessage = Pick<MessageHeader, 'inbox' | 'id' | 'from' | 'kind'> & Partial<MessageHeader>;

/** Something that happened to a stored message. `attempt` counts the tries, this one included. */
export type TapEvent =
  | { what: 'stored' }
  | { what: 'delivered'; attempt: number }
  | { what: 'settled'; outcome: Outcome; reason?: string | undefined };

/** Follows what happens to messages. `isOn` is asked before each event, which is all that it costs while it is off. */
export interface Tap {
  readonly isOn: boolean;
  saw(event: TapEvent, seq: number, message: TappedMessage): void;
}
