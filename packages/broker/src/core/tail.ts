import type { Outcome } from '@signalbox/store';
import type { MessageHeader } from './message-header.ts';

/** The header of a message that an event is about. A request that its sender cancels before it is pushed has only the required fields. */
export type TailMessage = Pick<MessageHeader, 'inbox' | 'id' | 'from' | 'kind'> & Partial<MessageHeader>;

/** An event in the life of a stored message. `attempt` counts the attempts to handle it, this one included. */
export type TailEvent =
  | { what: 'stored' }
  | { what: 'scheduled'; due_at: number }
  | { what: 'delivered'; attempt: number }
  | { what: 'settled'; outcome: Outcome; reason?: string | undefined };

/** Receives the events of messages. Callers check `isOn` before each event and report nothing while it is false. */
export interface Tail {
  readonly isOn: boolean;
  /** Reports an event of a message. A message that is not due has no sequence number. */
  report(event: TailEvent, seq: number | undefined, message: TailMessage): void;
}
