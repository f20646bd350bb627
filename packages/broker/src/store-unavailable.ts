import { StoreError } from '@signalbox/store';

/**
 * Tells whether the broker's database can't be reached now, or no longer accepts changes of this broker, which ends: another one may accept
 * them.
 */
export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreError && (error.code === 'store_unavailable' || error.code === 'store_in_use');
}

/**
 * The refusal of a frame that needs the database while it is away. If the connection was lost during the commit, the message may have been
 * stored.
 */
export const storeUnavailable = {
  code: 'storage_unavailable',
  message: "the broker's database can't be reached; try again, a message with the same id",
} as const;
