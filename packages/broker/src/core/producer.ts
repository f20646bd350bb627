import type { Sender } from '@signalbox/protocol';
import type { Appended, NewMessage } from '@signalbox/store';

/** The result of delivering a message: the store's answer, or `failed` if its commit failed. */
export type DeliverResult = Appended | { result: 'failed'; error: unknown };

/** A source of messages. One object serves all messages of a connection, so that a message costs no object of its own. */
export interface Producer {
  /** The sender of its messages. */
  readonly sender: Sender;
  /** Called once for each message, when its result is durable or its commit has failed. */
  answer(message: NewMessage, result: DeliverResult): void;
}
