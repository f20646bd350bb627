import type { MailboxAccess, MailboxToolName } from '@signalbox/protocol';

/** The most senders that one hint names. */
const maxNamed = 3;

/** The tools that read messages. A hint names the first one that the role may see. */
const readTools = ['signalbox_inbox_read', 'signalbox_inbox_wait'] as const satisfies MailboxToolName[];

/** A waiting message, with the facts that a hint uses. The broker attests `from`; `id` is only compared, never shown. */
export interface WaitingMessage {
  id: string;
  from: string;
}

/** The amount of new mail and its senders. It holds no text that a sender can choose: only counts, and ids that the broker attests. */
export interface NewMail {
  /** The number of messages. */
  messages: number;
  /** The first senders of the messages. */
  from: string[];
  /** The number of senders that are not named. */
  more_senders?: number;
}

/** A hint at new mail for a model. */
export interface MailHint extends NewMail {
  /** The same as a sentence, with the tool that reads the messages. */
  hint: string;
}

/** The JSON Schema of {@link MailHint}, as a field of a mailbox result. */
export const mailHintSchema = {
  type: 'object',
  description: 'New mail for you, mentioned once: how much, from whom, and the tool that reads it.',
  properties: {
    messages: { type: 'integer', minimum: 1 },
    from: { type: 'array', items: { type: 'string' } },
    more_senders: { type: 'integer', minimum: 1 },
    hint: { type: 'string' },
  },
  required: ['messages', 'from', 'hint'],
} as const;

/** Returns the tool with which agents of a role read messages, if they have one. `access` is `undefined` for all mailbox tools. */
export function readToolOf(access: MailboxAccess | undefined): MailboxToolName | undefined {
  if (access === false) return undefined;
  return readTools.find((name) => access === undefined || access.includes(name));
}

/** Counts messages and their senders. */
export function newMailOf(waiting: readonly WaitingMessage[]): NewMail {
  const senders = [...new Set(waiting.map(({ from }) => from))];
  const from = senders.slice(0, maxNamed);
  const more = senders.length - from.length;
  return { messages: waiting.length, from, ...(more > 0 && { more_senders: more }) };
}

/**
 * Writes that at least one new message waits, as in `2 new messages wait for rosa, from walt and bob`. `place` names the place where they
 * wait.
 */
export function newMailText({ messages, from, more_senders: more = 0 }: NewMail, place: string): string {
  return `${messages} new ${messages === 1 ? 'message waits' : 'messages wait'} ${place}, from ${listed(from, more)}`;
}

/** Makes a hint at messages that `readTool` reads. There must be at least one. */
export function mailHint(waiting: readonly WaitingMessage[], readTool: MailboxToolName): MailHint {
  const mail = newMailOf(waiting);
  const them = mail.messages === 1 ? 'it' : 'them';
  const hint = `[signalbox] ${newMailText(mail, 'in your inbox')}. Read ${them} with ${readTool}.`;
  return { ...mail, hint };
}

function listed(names: readonly string[], more: number): string {
  if (more > 0) return `${names.join(', ')} and ${more} more`;
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
