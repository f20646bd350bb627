import { dueFields, waitOf } from './due-time.ts';
import { additive, answer, type MailboxTool, mailboxTool } from './mailbox-tool.ts';
import type { MainConnection } from './main-connection.ts';
import { bodyFields, bodyOf, threadField, toField } from './message-arguments.ts';

/** Makes the tool that sends messages. It sends under the agent's own address, so that replies and notices come to its inbox. */
export function sendTool(main: MainConnection, now: () => number = Date.now): MailboxTool {
  return mailboxTool({
    name: 'signalbox_send_message',
    title: 'Send a message',
    description:
      'Puts a message into the inbox of another agent and does not wait for an answer. The receipt means that it is stored on disk and will reach the agent, also if it is not connected now; it does not mean that it was read. Use kind task for work that the other should do: its reply comes to your inbox. To wait for an answer use signalbox_ask_agent. With in or not_before it is kept until then.',
    fields: {
      to: toField,
      ...bodyFields,
      kind: {
        type: 'string',
        description: 'note: for information. task: work to do, which is answered.',
        enum: ['note', 'task'],
      },
      thread: threadField,
      ...dueFields,
      all: {
        type: 'boolean',
        description: 'Only for a group: every member but you gets a copy, in place of one of them.',
      },
    },
    required: ['to'],
    outputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'Id of the message; a reply names it.' },
        duplicate: { const: true, description: 'It was stored already.' },
        members: {
          type: 'integer',
          description: 'For all: how many members got a copy. Else 0: the group has no member yet.',
        },
      },
      required: ['id'],
    },
    annotations: additive,
    async run(
      { to, kind = 'note', all = false, in: after, not_before, thread, ...given },
      { signal, key, traceparent },
    ) {
      const body = bodyOf(given);
      const wait = waitOf({ in: after, not_before }, now());
      const client = await main.client(signal);
      const { id, duplicate, members } = await client.deliver(
        {
          to,
          kind,
          body,
          traceparent,
          ...(thread !== undefined && { thread }),
          ...(all && { all }),
          ...(wait !== undefined && { notBeforeMs: wait }),
          ...(key !== undefined && { id: key.id }),
        },
        { signal },
      );
      const whom = all ? `${members} ${members === 1 ? 'member' : 'members'} of ${to}` : to;
      const nobody = !all && members === 0 ? ' The group has no member yet; it waits for one.' : '';
      const text = `The ${kind} ${id} is stored for ${whom} on the broker's disk.${until(wait)}${nobody}`;
      const data = { id, ...(duplicate && { duplicate: true }), ...(members !== undefined && { members }) };
      return answer(text, data);
    },
  });
}

function until(wait: number | undefined): string {
  return wait === undefined ? '' : ` It is handed out in ${Math.ceil(wait / 1000)} s, and not before.`;
}
