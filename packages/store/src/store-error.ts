/**
 * The reason why a store failed. `store_corrupt`: the file is damaged or not a database. `store_damaged`: it has lost confirmed content,
 * and can be opened only if that is accepted. `store_other_version`: it has another version of the format. `store_full`: the disk has no
 * room. `store_unwritable`: the file or its directory can't be written. `data_directory_locked`: another process owns the directory.
 * `store_unavailable`: the database server can't be reached now, or it gave up the change and may accept it later. `store_in_use`: another
 * broker uses the database. `store_refused`: the server does not serve this client, for a reason that somebody must remove.
 * `store_failed`: the medium refused anything else; see `cause`.
 */
export type StoreErrorCode =
  | 'store_corrupt'
  | 'store_damaged'
  | 'store_other_version'
  | 'store_full'
  | 'store_unwritable'
  | 'data_directory_locked'
  | 'store_unavailable'
  | 'store_in_use'
  | 'store_refused'
  | 'store_failed';

/** The error with which a store rejects. Callers branch on `code`, never on `message`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** True if the store has failed for good: nothing becomes durable until it is opened again. */
  readonly isFinal: boolean;

  constructor(code: StoreErrorCode, message: string, cause?: unknown, { isFinal = false } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.isFinal = isFinal;
  }
}

/** Returns true for the error of a store that has failed for good. */
export function isFinalFailure(error: unknown): boolean {
  return error instanceof StoreError && error.isFinal;
}
