const maxText = 80;

/** A value in words, e.g. `the string "abc"`; long ones are cut at 80 characters. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  switch (typeof value) {
    case 'string':
      return `the string ${quoted(value)}`;
    case 'object':
      return 'an object';
    case 'undefined':
      return 'not there';
    default:
      return `the ${typeof value} ${String(value)}`;
  }
}

/** A text as JSON, cut at 80 characters. */
export function quoted(text: string): string {
  return JSON.stringify(cut(text, maxText));
}

/** A value of a schema, such as one of an enum, as JSON. */
export function jsonText(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'nothing', maxText);
}

/** At most `max` characters and an ellipsis for the rest. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

/** The first `max` in words, and how many more there are. */
export function listed<T>(
  entries: readonly T[],
  max: number,
  inWords: (entry: T) => string,
  separator = ', ',
): string {
  const shown = entries.slice(0, max).map(inWords);
  if (entries.length > max) shown.push(`and ${entries.length - max} more`);
  return shown.join(separator);
}
