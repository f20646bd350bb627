import { SignalboxError } from '@signalbox/protocol';

/** Most characters of a text; the broker's own limit, in bytes, is 4 MiB. */
const maxText = 4 * 1024 * 1024;

/** A message to somebody, as one of two arguments. */
export const bodyFields = {
  text: { type: 'string', description: 'The message as plain text.', minLength: 1, maxLength: maxText },
  body: { description: 'The message as JSON data, in place of text.' },
} as const;

/** The JSON value that is sent. Throws `invalid_arguments` unless there is exactly one. */
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
