import type { Outcome } from '@signalbox/store';
import type { MessageHeader } from './message-header.ts';

/** The header that a tail is told. Only these fields are known of one that its sender cancels before it is pushed. */
export type TailMessage = Pick<MessageHeader, 'inbox' | 'id' | 'from' | 'kind'> & Partial<MessageHeader>;

/** Something that happened to a stored message. `attempt` counts the tries, this one included. */
export type TailEvent =
  | { what: 'stored' }
  | { what: 'delivered'; attempt: number }
  | { what: 'settled'; outcome: Outcome; reason?: string | undefined };

/** Follows messages. `isOn` is asked before each event, which is all that it costs while nobody follows. */
export interface Tail {
  readonly isOn: boolean;
  /** Something happened to a message. */
  saw(event: TailEvent, seq: number, message: TailMessage): void;
}
