/** Characters whose ASCII order is their value order, so that ids sort by time; none makes an id look like an option. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const base = alphabet.length;
const codes = Array.from(alphabet, (character) => character.charCodeAt(0));
/** Half of the 8 characters at a time is a 32-bit integer, which divides quickly. */
const half = base ** 4;

/**
 * A message id of fixed width that sorts by creation time: 8 characters of milliseconds (enough until the year 9000), then `random`.
 * Time-sorted ids keep the store's unique index close to append-only.
 */
export function timeSortedId(nowMs: number, random: string): string {
  const high = Math.floor(nowMs / half);
  return fourDigits(high) + fourDigits(nowMs - high * half) + random;
}

function fourDigits(value: number): string {
  const tens = Math.floor(value / base);
  const hundreds = Math.floor(tens / base);
  const thousands = Math.floor(hundreds / base);
  return String.fromCharCode(
    codes[thousands % base]!,
    codes[hundreds % base]!,
    codes[tens % base]!,
    codes[value % base]!,
  );
}

/** The id under which the reply to a request is always sent: however often, one is stored. */
export function replyIdOf(requestId: string): string {
  return `re:${requestId}`;
}
