/**
 * The code of revisions up to 2025-11-25 for an item that does not exist. The SDK 2.4.0 reads it as `InvalidParams` if the error's data
 * names a URI.
 */
export const retiredNotFound = -32002;

/** The property of an error's data that holds its code and data as the server sent them. */
export const rawError = Symbol('error as the server sent it');

/** Returns true if an error's data holds the code and the data that the server sent. */
export function isRawError(data: unknown): data is { [rawError]: { code: number; data: unknown } } {
  return typeof data === 'object' && data !== null && rawError in data;
}
