import { StoreError } from '@signalbox/store';

/** Tells whether the broker's database can't be reached now, or takes nothing from this broker any more, which ends: another one may take it. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreError && (error.code === 'store_unavailable' || error.code === 'store_in_use');
}

/** The refusal of what needs the database meanwhile. Of a message it is open whether it was stored, if the connection was lost in its commit. */
export const storeUnavailable = {
  code: 'storage_unavailable',
  message: "the broker's database can't be reached; try again, a message with the same id",
} as const;
