import { replyIdOf, SignalboxError } from '@signalbox/protocol';
import { attestedText } from '../inbox/attested-text.ts';
import { inboxMessage, messageSchema } from '../inbox/inbox-message.ts';
import { heldBackField, heldBackNote, pageOf } from '../inbox/inbox-page.ts';
import {
  ambiguous,
  isAnsweredBefore,
  repeated,
  replyFields,
  replyTo,
  requireAnswerable,
} from '../inbox/reply-rules.ts';
import { answer, idempotent, type MailboxTool, mailboxTool, readOnly } from '../mailbox-tool.ts';
import type { MainConnection } from '../main-connection.ts';
import { bodyOf } from '../message-arguments.ts';
import type { TurnMessages } from './turn-messages.ts';

const defaultLimit = 10;
const maxLimit = 64;
/** The total size of the bodies of one look at waiting messages. */
const pageBytes = 48 * 1024;

const whoHolds =
  'signalbox worker serve holds this inbox: it acks the messages of this turn when the turn has ended well, and each other message starts a turn of its own';

export interface ServedInboxToolsDeps {
  messages: TurnMessages;
  main: MainConnection;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Epoch milliseconds. */
  wallNow: () => number;
}

/** Makes the tools by which a served agent sees its inbox and replies. They take and ack nothing: `worker serve` does. */
export function servedInboxTools(deps: ServedInboxToolsDeps): MailboxTool[] {
  return [readTool(deps), waitTool(), servedReplyTool(deps)];
}

const ackField = { type: 'string', description: 'Not here: nothing is to be acked.', maxLength: 64 } as const;

function readTool({ messages, now, wallNow }: ServedInboxToolsDeps): MailboxTool {
  return mailboxTool({
    name: 'signalbox_inbox_read',
    title: 'Look into the inbox',
    description:
      'Shows the messages for which this turn was started, and those that wait for later turns. It takes nothing and needs no ack: leave waiting messages to their own turns.',
    fields: {
      ack: ackField,
      limit: {
        type: 'integer',
        description: 'Most waiting messages to show.',
        minimum: 1,
        maximum: maxLimit,
        default: defaultLimit,
      },
    },
    outputSchema: {
      type: 'object',
      properties: {
        turn: { type: 'array', description: 'The messages of this turn.', items: messageSchema },
        waiting: { type: 'array', description: 'Messages that wait for later turns.', items: messageSchema },
        more: { type: 'boolean', description: 'More wait than are shown.' },
        held_back: heldBackField,
      },
      required: ['turn', 'waiting', 'more'],
    },
    annotations: readOnly,
    async run({ ack, limit = defaultLimit }) {
      if (ack !== undefined) throw new SignalboxError('not_held', `nothing was acked: ${whoHolds}`);
      const [own, { others, heldBack }] = await Promise.all([
        messages.ofTurn(),
        messages.ofOthers(limit + 1),
      ]);
      const page = pageOf(others, { messages: limit, bytes: pageBytes });
      const [turn, waiting] = [own, page].map((list) =>
        list.map((mail) => inboxMessage(mail, now(), wallNow())),
      ) as [ReturnType<typeof inboxMessage>[], ReturnType<typeof inboxMessage>[]];
      const more = page.length < others.length;
      const texts = [
        ...turn.map((one, at) => attestedText(one, `message ${at + 1} of ${turn.length} of this turn`)),
        ...waiting.map((one) => attestedText(one, 'a message that waits for a later turn')),
      ];
      const intro = `Messages of this turn: ${turn.length}. Waiting for later turns: ${waiting.length}${more ? ' and more' : ''}.`;
      const notes = [intro, heldBackNote(heldBack)].filter(Boolean).join('\n');
      const data = { turn, waiting, more, ...(heldBack > 0 && { held_back: heldBack }) };
      return answer([notes, ...texts].join('\n\n'), data);
    },
  });
}

function waitTool(): MailboxTool {
  return mailboxTool({
    name: 'signalbox_inbox_wait',
    title: 'Wait for a message',
    description:
      'Not in this session: new mail starts another turn by itself. End your turn instead of waiting.',
    fields: {
      timeout_s: { type: 'integer', description: 'Not used.', minimum: 0, maximum: 86_400 },
      ack: ackField,
      limit: { type: 'integer', description: 'Not used.', minimum: 1, maximum: maxLimit },
    },
    annotations: readOnly,
    run: () => Promise.reject(new SignalboxError('not_held', `there is nothing to wait for: ${whoHolds}`)),
  });
}

function servedReplyTool({ messages, main, now }: ServedInboxToolsDeps): MailboxTool {
  return mailboxTool({
    name: 'signalbox_reply',
    title: 'Reply to a message',
    description:
      'Answers a message of kind ask or task of your inbox. To the message of this turn, this is then the reply in place of your final text. Each message is answered once.',
    fields: replyFields,
    required: ['message_id'],
    outputSchema: {
      type: 'object',
      properties: { replied_to: { type: 'string' }, to: { type: 'string' } },
      required: ['replied_to', 'to'],
    },
    annotations: idempotent,
    async run({ message_id: id, from, ...given }, { signal, traceparent }) {
      const body = bodyOf(given);
      const found = await messages.withId(id, from);
      const [mail] = found;
      if (!mail) throw new SignalboxError('not_held', `no message with the id '${id}' waits in your inbox`);
      if (found.length > 1) throw ambiguous(id, found);
      requireAnswerable(mail);
      const { agent } = mail.message.from;
      const client = await main.client(signal);
      // `worker serve` gives its reply the same id, so that only one of the two is stored.
      const reply = replyIdOf(id);
      const [state] = await client.find([{ agent, id, reply }]);
      if (state === 'answered') throw repeated(id, agent);
      try {
        await client.deliver({ ...replyTo(mail, { body, id: reply }, now()), traceparent }, { signal });
      } catch (thrown) {
        throw isAnsweredBefore(thrown) ? repeated(id, agent) : thrown;
      }
      const text = `The reply to ${id} is stored for ${agent} on the broker's disk.`;
      return answer(text, { replied_to: id, to: agent });
    },
  });
}
