import { randomBytes } from 'node:crypto';
import { timeSortedId } from '@signalbox/protocol';

/** An id for a message or a call. */
export function newId(): string {
  return timeSortedId(Date.now(), randomBytes(10).toString('base64url').slice(0, 13));
}
