/** Matches the id of a message. A reply has the id of its request with `re:` before it. */
export const idPattern = /^(re:)?[!-~]{1,64}$/;

/** The ASCII order of these characters is their value order, so that ids sort by time. None of them makes an id look like an option. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const base = alphabet.length;
const codes = Array.from(alphabet, (character) => character.charCodeAt(0));
/** The time is written in two halves of 4 characters: each is a 32-bit integer, which divides quickly (ADR 10). */
const half = base ** 4;

/**
 * Makes an id that sorts by time: 8 characters of milliseconds (enough until the year 9000), then `random`.
 * Ids in the order of their time let an index grow at its end.
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

/** Returns the id under which the reply to a request is always sent, so that one reply is stored even if it is sent again. */
export function replyIdOf(requestId: string): string {
  return `re:${requestId}`;
}

/** Begins the ids of messages that callers from outside send over A2A. Any sender may write it; the bridge always does. */
const outsidePrefix = 'a2a-';

/** Makes the id of a message from outside, or of the thread of a context, of a hash. */
export function outsideId(hash: string): string {
  return outsidePrefix + hash;
}

/** Returns true if a message with this id says that it came from outside. */
export function isOutsideId(id: string): boolean {
  return id.startsWith(outsidePrefix);
}
