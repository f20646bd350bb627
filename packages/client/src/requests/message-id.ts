import { timeSortedId } from '@signalbox/protocol';
import { nanoid } from 'nanoid';

/** The number of random characters: 78 bits in base64url. */
const randomLength = 13;

/** Makes a message id. Ids sort by the time at which they were made, which keeps the broker's index of them compact. */
export function newMessageId(nowMs = Date.now()): string {
  return timeSortedId(nowMs, nanoid(randomLength));
}
