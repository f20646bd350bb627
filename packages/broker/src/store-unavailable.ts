import { StoreError } from '@signalbox/store';

/** Tells whether the broker's database can't be reached now. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'store_unavailable';
}

/** The refusal of what needs the database meanwhile. Of a message it is open whether it was stored, if the connection was lost in its commit. */
export const storeUnavailable = {
  code: 'storage_unavailable',
  message: "the broker's database can't be reached; try again, a message with the same id",
} as const;
