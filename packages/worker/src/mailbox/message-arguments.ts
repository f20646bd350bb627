import { SignalboxError } from '@signalbox/protocol';

/** The longest text, in characters; the broker's own limit is 4 MiB, in bytes. */
const maxText = 4 * 1024 * 1024;

/** The argument that names a recipient: an agent id, `agent#sub`, or a group. */
export const toField = {
  type: 'string',
  description:
    'Agent id of the recipient, such as walt, or role:ROLE for any one agent of a role, such as role:writer. signalbox_list_agents shows who is connected.',
  minLength: 1,
  maxLength: 193,
} as const;

/** The argument that names the thread of a message. */
export const threadField = {
  type: 'string',
  description:
    'The thread that the message belongs to, as the header of a message shows it; by default a new one. The recipient goes on with what it knows of that thread.',
  minLength: 1,
  maxLength: 64,
  pattern: '^[!-~]+$',
} as const;

/** The two arguments of which one is the message. */
export const bodyFields = {
  text: { type: 'string', description: 'The message as plain text.', minLength: 1, maxLength: maxText },
  body: { description: 'The message as JSON data, in place of text.' },
} as const;

/** Returns the JSON value to send. Throws `invalid_arguments` unless exactly one argument is given. */
export function bodyOf({ text, body }: { text?: string | undefined; body?: unknown }): unknown {
  if (text !== undefined && body !== undefined && body !== null) {
    throw new SignalboxError(
      'invalid_arguments',
      "'text' and 'body' are two ways to say it; give one of them",
    );
  }
  const value = text ?? body;
  if (value === undefined)
    throw new SignalboxError('invalid_arguments', "'text' is missing (or 'body', for JSON data)");
  return value;
}
