import type { Message } from '@signalbox/protocol';
import { isQuestion } from '../mailbox/inbox/held-messages.ts';

/** Returns the thread of a message, by which its turns are told from others. A note of no thread has none: it goes with any others. */
export function threadOf({ id, kind }: Message): string | undefined {
  return isQuestion(kind) ? id : undefined;
}
