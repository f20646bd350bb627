import { timeSortedId } from '@signalbox/protocol';

/** Returns a new id of a call or note, which sorts by its time. */
export function newId(): string {
  return timeSortedId(Date.now(), crypto.randomUUID().slice(0, 13));
}
