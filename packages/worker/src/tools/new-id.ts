import { randomUUID } from 'node:crypto';
import { timeSortedId } from '@signalbox/protocol';

/** An id for a message or a call. Node draws the bytes of many UUIDs at a time, which makes one far cheaper than bytes of its own. */
export function newId(): string {
  const uuid = randomUUID();
  return timeSortedId(Date.now(), uuid.slice(0, 8) + uuid.slice(24, 32));
}
