import { isExactNumber } from '@signalbox/protocol';

const maxText = 80;

/** Describes a value, such as `the string "abc"`; long texts are cut at 80 characters. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isExactNumber(value)) return `the number ${cut(value.rawJSON, maxText)}`;
  if (typeof value === 'object') return 'an object';
  if (value === undefined) return 'not there';
  return `the ${typeof value} ${typeof value === 'string' ? quoted(value) : String(value)}`;
}

/** Cuts a text at 80 characters and puts it in quotes, as JSON does. */
export function quoted(text: string): string {
  return JSON.stringify(cut(text, maxText));
}

/** Writes a value of a schema, such as one of an enum, as JSON of at most 80 characters. */
export function jsonText(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'nothing', maxText);
}

/** Cuts a text after `max` characters; an ellipsis stands for the rest. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

/** Lists the first `max` entries, and the number of the others. */
export function listed<T>(
  entries: readonly T[],
  max: number,
  describe: (entry: T) => string,
  separator = ', ',
): string {
  const shown = entries.slice(0, max).map(describe);
  if (entries.length > max) shown.push(`and ${entries.length - max} more`);
  return shown.join(separator);
}
