import type { Sender } from '@signalbox/protocol';
import type { Appended, NewMessage } from '@signalbox/store';

/** What became of a message that was handed over. */
export type DeliverResult = Appended | { result: 'failed'; error: unknown };

/** Whoever hands messages over. One object for all of its messages: it is told which one an answer is for. */
export interface Producer {
  /** The sender of its messages. */
  readonly sender: Sender;
  /** What became of a message, when that is durable. */
  answer(message: NewMessage, result: DeliverResult): void;
}
