import {
  isJsonObject,
  messageOf,
  parseJson,
  repeatedName,
  repeatedNameText,
  SignalboxError,
} from '@signalbox/protocol';

/** Reads the arguments of a tool call from a text. Throws `usage` if it is not one JSON object. */
export function toolArguments(text: string): Record<string, unknown> {
  const example = `write one JSON object in single quotes, as in '{"message":"hello"}'`;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    const message = `the arguments cannot be read: ${messageOf(cause)}`;
    throw new SignalboxError('usage', message, { cause, details: { hint: example } });
  }
  const twice = repeatedName(text);
  if (twice !== undefined) throw new SignalboxError('usage', `the text ${repeatedNameText(twice)}`);
  if (isJsonObject(value)) return value;
  throw new SignalboxError('usage', 'the arguments must be a JSON object', { details: { hint: example } });
}
