const form = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/;

/**
 * Reads a date with a time, such as `2026-12-01T09:00+01:00`, as epoch milliseconds. Without a zone it is of this machine's, unless
 * `needsZone`. Returns `undefined` for anything else, and for a day that its month does not have.
 */
export function parseInstant(text: string, { needsZone = false } = {}): number | undefined {
  const match = form.exec(text);
  if (!match || (needsZone && match[4] === undefined)) return undefined;
  const [, year, month, day] = match;
  const isDay = new Date(`${year}-${month}-${day}T00:00Z`).getUTCDate() === Number(day);
  const at = Date.parse(text.replace(' ', 'T'));
  return isDay && !Number.isNaN(at) ? at : undefined;
}
