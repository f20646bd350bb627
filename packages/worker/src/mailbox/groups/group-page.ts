import type { ToolResult } from '../../tools/tool-result.ts';
import type { Acked } from '../inbox/inbox-acks.ts';
import { ackNotes } from '../inbox/inbox-acks.ts';
import { heldBackNote, pageText } from '../inbox/inbox-page.ts';
import { answer } from '../mailbox-tool.ts';
import type { Taken } from './group-inbox.ts';

/** Makes the result of a read of a group. */
export function groupResult(group: string, limit: number, taken: Taken, acked: Acked): ToolResult {
  const { messages, cursor, hasMore, heldBack, unacked, lost } = taken;
  const data = {
    group,
    messages,
    ...(cursor !== undefined && { cursor }),
    more: 0,
    ...(hasMore && { at_broker: true }),
    ...(heldBack > 0 && { held_back: heldBack }),
    unacked,
    ...(lost.length > 0 && { lost }),
    ...acked,
  };
  const isFull = unacked >= limit;
  const notes = [
    ...ackNotes(acked),
    lost.length > 0 &&
      `You hold no longer: ${lost.join(', ')}. No call named them for 10 minutes, or the connection to the broker was lost, so another member gets them. A reply of yours still counts if it is the first.`,
    messages.length === 0
      ? `No new messages of ${group}.`
      : `Messages of ${group}: ${messages.length}, listed below. You hold them for 10 minutes, and for 10 more after each signalbox_inbox_read of ${group}.`,
    heldBackNote(heldBack),
    isFull
      ? `You hold ${unacked} of ${group}, so nothing new comes before you reply to one or ack it.`
      : hasMore && `More wait in ${group}, perhaps for others of their keys.`,
    cursor !== undefined && `When you are done with these, reply, or ack with the cursor ${cursor}`,
  ];
  const intro = notes.filter(Boolean).join('\n');
  return answer(messages.length === 0 ? intro : `${intro}\n\n${pageText(messages)}`, data);
}
