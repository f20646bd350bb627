import { randomBytes } from 'node:crypto';
import { timeSortedId } from '@signalbox/protocol';

const randomLength = 13;
/** Three bytes make four characters of base64url, which has no other characters than ids may have. */
const drawnBytes = 48 * randomLength;

/**
 * Makes time-sorted message ids. What costs most is shared: the text of a millisecond by the ids of that millisecond, and
 * one draw of random characters by the next 64.
 */
export function messageIds(nowMs: () => number): () => string {
  let madeAt = Number.NaN;
  let time = '';
  let drawn = '';
  let at = 0;
  return () => {
    const now = nowMs();
    if (now !== madeAt) {
      madeAt = now;
      time = timeSortedId(now, '');
    }
    if (at === drawn.length) {
      drawn = randomBytes(drawnBytes).toString('base64url');
      at = 0;
    }
    const random = drawn.slice(at, at + randomLength);
    at += randomLength;
    return time + random;
  };
}
