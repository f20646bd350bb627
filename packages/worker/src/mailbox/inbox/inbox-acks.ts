import type { CancelSignal } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import type { GroupInboxes } from '../groups/group-inboxes.ts';
import type { Inbox } from './inbox.ts';
import type { InboxCursors } from './inbox-cursors.ts';

/** The results of acking the messages that a cursor names. */
export interface Acked {
  acked: number;
  ack_pending: number;
  /** True if the cursor belongs to a face that has ended, so that nothing was acked. */
  ack_lost?: true;
  /** The number of a group's messages that the agent no longer held. */
  taken_back?: number;
}

export interface AckDeps {
  inbox: Inbox;
  groups: GroupInboxes;
  cursors: InboxCursors;
}

/**
 * Acks the messages that reads up to a cursor returned, in the inbox or the group that they read. Throws and acks nothing if the cursor
 * belongs to neither. In a session that may have begun at another face (`isResumable`), a cursor of that face is no error.
 */
export async function ackUpTo(
  { inbox, groups, cursors }: AckDeps,
  cursor: string | undefined,
  { signal, isResumable }: { signal: CancelSignal; isResumable: boolean },
): Promise<Acked> {
  if (cursor === undefined) return { acked: 0, ack_pending: 0 };
  const ofGroup = groups.ofCursor(cursor);
  if (ofGroup) {
    const { acked, takenBack } = await ofGroup.inbox.ackUpTo(ofGroup.read);
    return { acked, ack_pending: 0, ...(takenBack > 0 && { taken_back: takenBack }) };
  }
  const read = cursors.readOf(cursor);
  if (read === undefined && isResumable && cursors.isForeign(cursor)) {
    return { acked: 0, ack_pending: 0, ack_lost: true };
  }
  if (read === undefined) {
    throw new SignalboxError(
      'invalid_arguments',
      `'ack' must be a cursor that a read of this session returned, and '${cursor}' is none; nothing was acked, so read again without it`,
    );
  }
  const done = inbox.checkedOut.shownUpTo(read);
  const { pending } = await inbox.ack(done, signal);
  return { acked: done.length - pending, ack_pending: pending };
}

/** Returns sentences that tell a model about the results of its ack. */
export function ackNotes({
  acked,
  ack_pending,
  ack_lost,
  taken_back = 0,
}: Acked): (string | false | undefined)[] {
  return [
    acked > 0 && `Acked: ${acked}.`,
    ack_lost &&
      "Nothing was acked: the cursor is of a process that has ended. Messages that you read and did not ack come again; ack them with a new read's cursor.",
    ack_pending > 0 && `To be acked when the broker is back: ${ack_pending}.`,
    taken_back > 0 && `Not acked, because you held them no longer: ${taken_back}. Another member gets them.`,
  ];
}
