import { type Message, threadOf } from '@signalbox/protocol';
import { isQuestion } from '../mailbox/inbox/held-messages.ts';

/**
 * Returns the thread whose turns a message goes with. A message that begins a thread of its own, and to which nobody waits for a reply, has
 * none: it goes with others of that sort.
 */
export function turnThreadOf(message: Message): string | undefined {
  const thread = threadOf(message);
  return thread === message.id && !isQuestion(message.kind) ? undefined : thread;
}
