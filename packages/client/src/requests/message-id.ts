import { timeSortedId } from '@signalbox/protocol';
import { nanoid } from 'nanoid';

/** With 13 characters of base64url, 78 bits of each id are random. */
const randomLength = 13;

/** Makes a message id. Ids sort by the time at which they were made, which keeps the broker's index of them compact. */
export function newMessageId(nowMs = Date.now()): string {
  return timeSortedId(nowMs, nanoid(randomLength));
}
