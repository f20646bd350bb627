import { isExactNumber } from '@signalbox/protocol';

/** Returns the same text for JSON values that are equal, and for no others. Unlike RFC 8785 it accepts lone surrogates. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  if (typeof value !== 'object' || value === null || isExactNumber(value))
    return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalText(inner)}`).join()}}`;
}
