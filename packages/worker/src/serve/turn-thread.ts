import { type Message, threadOf } from '@signalbox/protocol';
import { isQuestion } from '../mailbox/inbox/checked-out-messages.ts';

/**
 * Returns the thread whose turns a message joins. A message that begins its own thread, and whose sender waits for no reply, has none: it
 * joins other messages of that sort.
 */
export function turnThreadOf(message: Message): string | undefined {
  const thread = threadOf(message);
  return thread === message.id && !isQuestion(message.kind) ? undefined : thread;
}
