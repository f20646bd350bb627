import type { CancelSignal } from '@signalbox/client';
import { type Message, SignalboxError } from '@signalbox/protocol';
import type { ToolResult } from '../../tools/tool-result.ts';
import type { FoundCheckout, GroupInboxes } from '../groups/group-inboxes.ts';
import { answer, idempotent, type MailboxTool, mailboxTool } from '../mailbox-tool.ts';
import type { MainConnection } from '../main-connection.ts';
import { bodyOf } from '../message-arguments.ts';
import type { CheckedOutMessage } from './checked-out-messages.ts';
import type { Inbox } from './inbox.ts';
import {
  ambiguous,
  isAnsweredBefore,
  repeated,
  replyFields,
  replyTo,
  requireAnswerable,
} from './reply-rules.ts';

/** The most held messages that an error names. */
const maxNamed = 20;
const rememberedReplies = 200;
export interface ReplyToolDeps {
  inbox: Inbox;
  groups: GroupInboxes;
  /** Sends the reply to a message of a group that the agent no longer holds. */
  main: MainConnection;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** Makes the tool that answers a message and acks it in the same commit. */
export function replyTool({ inbox, groups, main, now }: ReplyToolDeps): MailboxTool {
  const answered = new Set<string>();
  const done = (id: string, agent: string): void => remember(answered, keyOf(id, agent));
  const failed = (thrown: unknown, { id, from: { agent } }: Message, remove: () => void): never => {
    if (!isAnsweredBefore(thrown)) throw thrown;
    // The broker acked the message, although it did not store this answer.
    remove();
    done(id, agent);
    throw repeated(id, agent);
  };

  /** Replies to a message of a group. Returns true if the agent still held it. */
  async function replyInGroup(
    { inbox: group, checkout }: FoundCheckout,
    { signal, ...reply }: Reply,
  ): Promise<boolean> {
    const { message, seq } = checkout;
    const remove = (): void => group.checkouts.remove([seq]);
    const outgoing = replyTo(checkout, reply, now());
    try {
      const isSettled = await group.settle(checkout, outgoing, { signal });
      // The broker accepts the reply of each member that was handed the request, and the first one counts.
      if (!isSettled) await (await main.client(signal)).deliver(outgoing, { signal });
      remove();
      return isSettled;
    } catch (thrown) {
      return failed(thrown, message, remove);
    }
  }

  return mailboxTool({
    name: 'signalbox_reply',
    title: 'Reply to a message',
    description:
      'Answers a message of kind ask or task that a read returned and you have not acked. The reply and the ack of that message are one step: do not ack it besides. Each message is answered once.',
    fields: replyFields,
    required: ['message_id'],
    outputSchema: {
      type: 'object',
      properties: {
        replied_to: { type: 'string' },
        to: { type: 'string' },
        held_no_longer: {
          const: true,
          description: 'Another member of the group may work on the message, too. Its reply will not count.',
        },
      },
      required: ['replied_to'],
    },
    annotations: idempotent,
    async run({ message_id: id, from, ...given }, { signal, key }) {
      const body = bodyOf(given);
      const reply = { body, id: key?.id, signal };
      const ofGroup = foundInGroup(groups, inbox, id, from);
      if (ofGroup) {
        requireAnswerable(ofGroup.checkout);
        const { agent } = ofGroup.checkout.message.from;
        const isSettled = await replyInGroup(ofGroup, reply);
        done(id, agent);
        return stored(id, agent, isSettled);
      }
      const client = await inbox.lease(signal);
      const isResumable = key !== undefined && !wasRead(inbox, id, from);
      // The message may have been read, or even answered, at a face that has ended.
      if (isResumable) await inbox.fill(signal);
      if (isResumable) {
        const [state] = await client.find([
          { id, reply: key.id, ...(from !== undefined && { agent: from }) },
        ]);
        if (state === 'answered') return storedBefore(id, from);
        if (state === 'ambiguous') throw severalSenders(id);
      }
      const mail = answerable({ inbox, groups }, { id, from, answered, isResumable });
      const { seq, message } = mail;
      const remove = (): void => inbox.checkedOut.remove([seq]);
      await client
        .deliver({ ...replyTo(mail, reply, now()), settles: seq }, { signal })
        .catch((thrown) => failed(thrown, message, remove));
      remove();
      done(id, message.from.agent);
      return stored(id, message.from.agent, true);
    },
  });
}

/** A reply of the agent. `id` is that of the call, if the call may be repeated. */
interface Reply {
  body: unknown;
  id: string | undefined;
  signal: CancelSignal;
}

/** Returns the message of a group with an id. Returns `undefined` if there is none, or if a message of the agent's own inbox is meant. */
function foundInGroup(
  groups: GroupInboxes,
  inbox: Inbox,
  id: string,
  from: string | undefined,
): FoundCheckout | undefined {
  const found = groups.withId(id, from);
  if (found.length === 0) return undefined;
  const own = inbox.checkedOut.withId(id, from).filter(({ shownBy }) => shownBy !== undefined);
  if (own.length > 0 && from !== undefined) return undefined;
  const messages = [...own, ...found.map(({ checkout }) => checkout)];
  if (messages.length > 1 && from === undefined) throw ambiguous(id, messages);
  return found.find(({ checkout }) => checkout.isLive) ?? found[0];
}

function stored(id: string, agent: string, isSettled: boolean): ToolResult {
  const text = `The reply to ${id} is stored for ${agent} on the broker's disk; `;
  const data = { replied_to: id, to: agent };
  if (isSettled) return answer(`${text}the message is acked.`, data);
  const late =
    'you held the message no longer, so another member of the group may work on it, too. Its reply will not count.';
  return answer(`${text}${late}`, { ...data, held_no_longer: true });
}

/** Returns true if a read of this process returned a message that is not acked. */
function wasRead({ checkedOut }: Inbox, id: string, from: string | undefined): boolean {
  return checkedOut.withId(id, from).some(({ shownBy }) => shownBy !== undefined);
}

interface Wanted {
  id: string;
  from: string | undefined;
  answered: ReadonlySet<string>;
  /** True if messages that no read of this process returned count, too. */
  isResumable: boolean;
}

/** Returns the key of an answer that this process has sent. */
function answeredKey(
  answered: ReadonlySet<string>,
  id: string,
  from: string | undefined,
): string | undefined {
  return [...answered].find((key) => key.startsWith(`${id} `) && (!from || key === keyOf(id, from)));
}

/** Records that this call has stored its reply at a face that has ended. */
function storedBefore(id: string, from: string | undefined): ToolResult {
  const text = `The reply to ${id} is stored on the broker's disk; the message is acked.`;
  return answer(text, { replied_to: id, ...(from !== undefined && { to: from }) });
}

/** Refuses a reply that an agent meant for one of several messages, some of which may have come later. */
function severalSenders(id: string): SignalboxError {
  return new SignalboxError(
    'ambiguous',
    `several agents sent messages with the id '${id}', and the process that read them has ended; say which with 'from'`,
    { details: { mayBeStored: true } },
  );
}

function answerable(
  { inbox: { checkedOut }, groups }: Pick<ReplyToolDeps, 'inbox' | 'groups'>,
  { id, from, answered, isResumable }: Wanted,
): CheckedOutMessage {
  const found = checkedOut
    .withId(id, from)
    .filter(({ shownBy, isLive }) => shownBy !== undefined || (isResumable && isLive));
  const [one] = found;
  if (!one) {
    const done = answeredKey(answered, id, from);
    if (done !== undefined) throw repeated(id, done.slice(id.length + 1));
    const named = [...checkedOut.unacked(), ...groups.checkedOut()]
      .slice(0, maxNamed)
      .map(({ message }) => `${message.id} (${message.kind})`);
    const rest = named.length > 0 ? `you hold: ${named.join(', ')}` : 'you hold none; read the inbox first';
    throw new SignalboxError(
      'not_held',
      `no message with the id '${id}' was read by you and waits for its ack; ${rest}`,
    );
  }
  if (found.length > 1) throw ambiguous(id, found);
  requireAnswerable(one);
  return one;
}

function keyOf(id: string, agent: string): string {
  return `${id} ${agent}`;
}

function remember(keys: Set<string>, key: string): void {
  keys.add(key);
  if (keys.size <= rememberedReplies) return;
  const [oldest] = keys;
  if (oldest !== undefined) keys.delete(oldest);
}
