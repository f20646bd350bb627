import type { CancelSignal } from '@signalbox/client';
import { SignalboxError } from '@signalbox/protocol';
import { late } from '@signalbox/serving';
import type { FaceCall } from '../../tools/face-tools.ts';
import type { ToolResult } from '../../tools/tool-result.ts';
import { groupResult } from '../groups/group-page.ts';
import { answer, idempotent, type MailboxTool, mailboxTool } from '../mailbox-tool.ts';
import type { CheckedOutMessage } from './checked-out-messages.ts';
import { inboxWindow } from './inbox.ts';
import { type AckDeps, type Acked, ackNotes, ackUpTo } from './inbox-acks.ts';
import { inboxMessage } from './inbox-message.ts';
import { heldBackNote, pageOf, pageSchema, pageText } from './inbox-page.ts';

const defaultLimit = 10;
/** One message by default: the other members wait for the messages that this one holds. */
const defaultGroupLimit = 1;
/** The total size of the bodies of one read. Clients commonly cut results off at about twice that. */
const pageBytes = 48 * 1024;

export interface InboxToolsDeps extends AckDeps {
  /** The longest wait of one call, in milliseconds. */
  maxWaitMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Epoch milliseconds. */
  wallNow: () => number;
  /** Called with the messages that a read has returned, and those that it said are waiting. */
  onShown: (messages: readonly CheckedOutMessage[]) => void;
}

const ackField = {
  type: 'string',
  description:
    'The cursor of an earlier read: all messages that reads up to it returned are done with, and are never handed out again.',
  maxLength: 64,
} as const;
const limitField = {
  type: 'integer',
  description: `Most messages to return, ${defaultLimit} by default. With group: most messages of it that you hold at a time, ${defaultGroupLimit} by default.`,
  minimum: 1,
  maximum: inboxWindow,
} as const;
const groupField = {
  type: 'string',
  description:
    'Reads from a group in place of your own inbox: role:ROLE with your own role, or group:NAME if you are a member. You take a message away from the other members and hold it for 10 minutes; each read that returns it renews them. Reply to it or ack its cursor when you are done. While you hold as many as "limit" says, nothing new comes.',
  minLength: 1,
  maxLength: 70,
} as const;
const takeOverField = {
  type: 'boolean',
  description:
    'Takes your own inbox from another process of yours that reads it, which ends a worker serve with its turns. Leave it out unless a refusal names it and you are to do that.',
} as const;

/** Makes the tools that read the agent's own inbox. Returning a message never acks it: the agent acks messages by naming a cursor. */
export function inboxTools(deps: InboxToolsDeps): MailboxTool[] {
  const { inbox, maxWaitMs, now } = deps;
  const maxSeconds = Math.max(1, Math.floor(maxWaitMs / 1000));
  return [
    mailboxTool({
      name: 'signalbox_inbox_read',
      title: 'Read the inbox',
      description:
        'Returns the messages that other agents sent you, oldest first, and a cursor. Messages that you do not ack are returned again by the next read (shown_before: true): when you are done with the messages of a read, give its cursor as "ack" to the next read or wait. To answer a message of kind ask or task use signalbox_reply, which acks that message by itself. Returns at once, also with nothing.',
      fields: { ack: ackField, limit: limitField, group: groupField, take_over: takeOverField },
      outputSchema: pageSchema,
      annotations: idempotent,
      async run({ ack, limit, group, take_over: takesOver }, call) {
        if (group !== undefined) return await readGroup(deps, { group, ack, limit, takesOver }, call);
        const { signal } = call;
        await inbox.lease(signal, takesOver);
        const acked = await ackOf(deps, ack, call);
        const rest = await inbox.fill(signal);
        return await page(deps, { waiting: inbox.waiting(), limit, acked, ...rest, signal });
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
        group: groupField,
        take_over: takeOverField,
      },
      outputSchema: pageSchema,
      annotations: idempotent,
      async run({ timeout_s: seconds, ack, limit, group, take_over: takesOver }, call) {
        const waitMs = Math.min(maxWaitMs, seconds === undefined ? maxWaitMs : seconds * 1000);
        if (group !== undefined) return await readGroup(deps, { group, ack, limit, takesOver, waitMs }, call);
        const { signal } = call;
        const deadline = now() + waitMs;
        await inbox.lease(signal, takesOver);
        const acked = await ackOf(deps, ack, call);
        let rest = await inbox.fill(signal);
        while (inbox.fresh().length === 0) {
          if ((await inbox.arrival(Math.max(0, deadline - now()), signal)) === late) break;
          rest = await inbox.fill(signal);
        }
        return await page(deps, { waiting: inbox.fresh(), limit, acked, ...rest, signal });
      },
    }),
  ];
}

function ackOf(deps: AckDeps, cursor: string | undefined, { signal, key }: FaceCall): Promise<Acked> {
  return ackUpTo(deps, cursor, { signal, isResumable: key !== undefined });
}

interface GroupRead {
  group: string;
  ack: string | undefined;
  limit: number | undefined;
  takesOver: boolean | undefined;
  waitMs?: number;
}

/** Takes messages of a group. The agent's own inbox is left alone. */
async function readGroup(
  deps: InboxToolsDeps,
  { group, ack, limit = defaultGroupLimit, takesOver, waitMs }: GroupRead,
  call: FaceCall,
): Promise<ToolResult> {
  if (takesOver)
    throw new SignalboxError(
      'invalid_arguments',
      "'take_over' is for your own inbox; leave it or 'group' out",
    );
  const acked = await ackOf(deps, ack, call);
  const wanted = { limit, waitMs, session: call.session };
  const taken = await deps.groups.of(group).take(wanted, call.signal);
  return groupResult(group, limit, taken, acked);
}

interface PageOptions {
  waiting: readonly CheckedOutMessage[];
  limit: number | undefined;
  acked: Acked;
  /** True if the broker has messages that it has not delivered yet. */
  hasMore: boolean;
  /** The number of messages that wait until a hold ends. */
  heldBack: number;
  signal: CancelSignal;
}

async function page(
  { inbox, cursors, now, wallNow, onShown }: InboxToolsDeps,
  { waiting, limit = defaultLimit, acked, hasMore, heldBack, signal }: PageOptions,
): Promise<ToolResult> {
  const taken = pageOf(waiting, { messages: limit, bytes: pageBytes });
  const messages = taken.map((mail) => inboxMessage(mail, now(), wallNow()));
  const named = taken.length > 0 ? cursors.next() : undefined;
  if (named) await inbox.shown(taken, named.read, signal);
  onShown(waiting);
  const more = waiting.length - taken.length;
  const unacked = inbox.checkedOut.unacked().length;
  const data = {
    messages,
    ...(named && { cursor: named.cursor }),
    more,
    ...(hasMore && { at_broker: true }),
    ...(heldBack > 0 && { held_back: heldBack }),
    unacked,
    ...acked,
  };
  const notes = [
    ...ackNotes(acked),
    messages.length === 0 ? 'No new messages.' : `Messages: ${messages.length}, listed below.`,
    heldBackNote(heldBack),
    (more > 0 || hasMore) && `${hasMore ? 'At least ' : ''}${Math.max(more, 1)} more wait; read on.`,
    named && `When you are done with these, ack with the cursor ${named.cursor}`,
    !named && unacked > 0 && `${unacked} that you have read are not acked.`,
    unacked >= inboxWindow && `No new messages come before you ack some of these ${unacked}.`,
  ];
  const intro = notes.filter(Boolean).join('\n');
  return answer(messages.length === 0 ? intro : `${intro}\n\n${pageText(messages)}`, data);
}
