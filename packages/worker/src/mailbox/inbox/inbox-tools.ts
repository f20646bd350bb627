import { SignalboxError } from '@signalbox/protocol';
import { late } from '../../time-limit.ts';
import type { ToolResult } from '../../tools/tool-result.ts';
import { answer, idempotent, type MailboxTool, mailboxTool } from '../mailbox-tool.ts';
import type { HeldMessage } from './held-messages.ts';
import { type Inbox, inboxWindow } from './inbox.ts';
import type { InboxCursors } from './inbox-cursors.ts';
import { inboxMessage } from './inbox-message.ts';
import { pageOf, pageSchema, pageText } from './inbox-page.ts';

const defaultLimit = 10;
/** The total size of the bodies of one read. Clients commonly cut results off at about twice that. */
const pageBytes = 48 * 1024;

export interface InboxToolsDeps {
  inbox: Inbox;
  cursors: InboxCursors;
  /** The longest wait of one call, in milliseconds. */
  maxWaitMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Epoch milliseconds. */
  wallNow: () => number;
  /** Called with the messages that a read has returned, and those that it said to wait. */
  onShown: (messages: readonly HeldMessage[]) => void;
}

const ackField = {
  type: 'string',
  description:
    'The cursor of an earlier read: all messages that reads up to it returned are done with, and are never offered again.',
  maxLength: 64,
} as const;
const limitField = {
  type: 'integer',
  description: 'Most messages to return.',
  minimum: 1,
  maximum: inboxWindow,
  default: defaultLimit,
} as const;

/** Makes the tools that read the agent's own inbox. Returning a message never acks it: only a cursor that the agent names does. */
export function inboxTools(deps: InboxToolsDeps): MailboxTool[] {
  const { inbox, maxWaitMs, now } = deps;
  const maxSeconds = Math.max(1, Math.floor(maxWaitMs / 1000));
  return [
    mailboxTool({
      name: 'signalbox_inbox_read',
      title: 'Read the inbox',
      description:
        'Returns the messages that other agents sent you, oldest first, and a cursor. What you do not ack is returned again by the next read (offered_before: true): when you are done with what a read returned, give its cursor as "ack" to the next read or wait. To answer a message of kind ask or task use signalbox_reply, which acks that message by itself. Returns at once, also with nothing.',
      fields: { ack: ackField, limit: limitField },
      outputSchema: pageSchema,
      annotations: idempotent,
      async run({ ack, limit = defaultLimit }, { signal, key }) {
        const acked = await ackUpTo(deps, ack, { signal, isResumable: key !== undefined });
        const hasMore = await inbox.fill(signal);
        return await page(deps, { waiting: inbox.waiting(), limit, acked, hasMore, signal });
      },
    }),
    mailboxTool({
      name: 'signalbox_inbox_wait',
      title: 'Wait for a message',
      description: `Waits until a message comes that no read has returned yet, at most ${maxSeconds} s, and returns the new messages and a cursor like signalbox_inbox_read. Nothing new in that time is a normal answer, not an error: call it again to go on waiting. Give "ack" to be done with what you have read before.`,
      fields: {
        timeout_s: {
          type: 'integer',
          description: 'How long to wait, in seconds.',
          minimum: 0,
          maximum: maxSeconds,
          default: maxSeconds,
        },
        ack: ackField,
        limit: limitField,
      },
      outputSchema: pageSchema,
      annotations: idempotent,
      async run({ timeout_s: seconds, ack, limit = defaultLimit }, { signal, key }) {
        const waitMs = Math.min(maxWaitMs, seconds === undefined ? maxWaitMs : seconds * 1000);
        const deadline = now() + waitMs;
        const acked = await ackUpTo(deps, ack, { signal, isResumable: key !== undefined });
        let hasMore = await inbox.fill(signal);
        while (inbox.fresh().length === 0) {
          if ((await inbox.arrival(Math.max(0, deadline - now()), signal)) === late) break;
          hasMore = await inbox.fill(signal);
        }
        return await page(deps, { waiting: inbox.fresh(), limit, acked, hasMore, signal });
      },
    }),
  ];
}

interface Acked {
  acked: number;
  ack_pending: number;
  /** The cursor is of a face that has ended, so that nothing was acked. */
  ack_lost?: true;
}

/**
 * Acks what reads up to a cursor returned. Throws, and acks nothing, if the cursor is not one of this inbox. In a session that may have
 * begun at another face, `isResumable`, a cursor of that face is no error.
 */
async function ackUpTo(
  { inbox, cursors }: InboxToolsDeps,
  cursor: string | undefined,
  { signal, isResumable }: { signal: AbortSignal; isResumable: boolean },
): Promise<Acked> {
  await inbox.hold(signal);
  if (cursor === undefined) return { acked: 0, ack_pending: 0 };
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
  const done = inbox.held.offeredUpTo(read);
  const { pending } = await inbox.ack(done, signal);
  return { acked: done.length - pending, ack_pending: pending };
}

interface PageOptions {
  waiting: readonly HeldMessage[];
  limit: number;
  acked: Acked;
  /** Whether the broker has messages that it has not delivered yet. */
  hasMore: boolean;
  signal: AbortSignal;
}

async function page(
  { inbox, cursors, now, wallNow, onShown }: InboxToolsDeps,
  { waiting, limit, acked, hasMore, signal }: PageOptions,
): Promise<ToolResult> {
  const taken = pageOf(waiting, { messages: limit, bytes: pageBytes });
  const messages = taken.map((held) => inboxMessage(held, now(), wallNow()));
  const named = taken.length > 0 ? cursors.next() : undefined;
  if (named) await inbox.offered(taken, named.read, signal);
  onShown(waiting);
  const more = waiting.length - taken.length;
  const unacked = inbox.held.unacked().length;
  const data = {
    messages,
    ...(named && { cursor: named.cursor }),
    more,
    ...(hasMore && { at_broker: true }),
    unacked,
    ...acked,
  };
  const notes = [
    acked.acked > 0 && `Acked: ${acked.acked}.`,
    acked.ack_lost &&
      "Nothing was acked: the cursor is of a process that has ended. Messages that you read and did not ack come again; ack them with a new read's cursor.",
    acked.ack_pending > 0 && `To be acked when the broker is back: ${acked.ack_pending}.`,
    messages.length === 0 ? 'No new messages.' : `Messages: ${messages.length}, listed below.`,
    (more > 0 || hasMore) && `${hasMore ? 'At least ' : ''}${Math.max(more, 1)} more wait; read on.`,
    named && `When you are done with these, ack with the cursor ${named.cursor}`,
    !named && unacked > 0 && `${unacked} that you have read are not acked.`,
    unacked >= inboxWindow && `No new messages come before you ack some of these ${unacked}.`,
  ];
  const intro = notes.filter(Boolean).join('\n');
  return answer(messages.length === 0 ? intro : `${intro}\n\n${pageText(messages)}`, data);
}
