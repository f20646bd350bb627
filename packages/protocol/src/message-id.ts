/** Characters whose ASCII order is their value order, so that ids sort by time; none makes an id look like an option. */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const base = alphabet.length;

/**
 * A message id of fixed width that sorts by creation time: 8 characters of milliseconds (enough until the year 9000), then `random`.
 * Time-sorted ids keep the store's unique index close to append-only.
 */
export function timeSortedId(nowMs: number, random: string): string {
  let rest = nowMs;
  let text = '';
  for (let i = 0; i < 8; i++) {
    text = alphabet[rest % base] + text;
    rest = Math.floor(rest / base);
  }
  return text + random;
}

/** The id under which the reply to a request is always sent: however often, one is stored. */
export function replyIdOf(requestId: string): string {
  return `re:${requestId}`;
}
