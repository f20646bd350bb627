import type { Sender } from '@signalbox/protocol';
import type { Appended, NewMessage } from '@signalbox/store';

/** The fate of a message that was handed over. */
export type DeliverResult = Appended | { result: 'failed'; error: unknown };

/** Hands messages over. One object stands for all of its messages, and is told for which one an answer is. */
export interface Producer {
  /** The sender of its messages. */
  readonly sender: Sender;
  /** Tells what became of a message, once that is durable. */
  answer(message: NewMessage, result: DeliverResult): void;
}
