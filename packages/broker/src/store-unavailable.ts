import { StoreError } from '@signalbox/store';

/**
 * Tells whether the broker's database may accept the same change later: it can't be reached now, or gave up the change. Or it accepts no
 * change of this broker any more, which ends: another broker may store it.
 */
export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreError && (error.code === 'store_unavailable' || error.code === 'store_in_use');
}

/**
 * The refusal of a frame for which the database did nothing in time. If the connection was lost during the commit, the message may have been
 * stored.
 */
export const storeUnavailable = {
  code: 'storage_unavailable',
  message: "the broker's database can't be reached, or is too busy; try again, a message with the same id",
} as const;
