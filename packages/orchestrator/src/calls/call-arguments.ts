import { messageOf, parseJson } from '@signalbox/protocol';

/** The arguments of a call as an object, or the problem that keeps them from being read. */
export type ParsedArguments =
  | { arguments: Record<string, unknown>; problem?: undefined }
  | { arguments?: undefined; problem: string };

/**
 * Reads the arguments of a call: an object, the JSON text of one (as language models emit it), or nothing for a tool
 * that takes none.
 */
export function parseArguments(value: unknown): ParsedArguments {
  if (value === undefined || value === '') return { arguments: {} };
  if (typeof value !== 'string') return asObject(value, 'arguments');
  try {
    return asObject(parseJson(value), 'the JSON text in arguments');
  } catch (thrown) {
    return { problem: `arguments is a string that cannot be read as JSON: ${messageOf(thrown)}` };
  }
}

function asObject(value: unknown, what: string): ParsedArguments {
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    return { arguments: value as Record<string, unknown> };
  }
  const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  return { problem: `${what} must be a JSON object of parameter names and values, not ${found}` };
}
